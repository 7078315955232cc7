import type { Airtime, Counters, Radio, Rates, Telemetry } from './telemetry.ts'

/** Telemetry, and when it arrived, in service time. */
export interface TimedTelemetry {
  readonly telemetry: Telemetry
  readonly atMs: number
}

/** Uptimes are whole seconds, so shorter intervals would give no useful rate. */
export const MIN_INTERVAL_S = 5
/** Rates are current values; over a longer gap they would average a time without observations. */
const MAX_INTERVAL_S = 600

/**
 * Adds the values that follow from the counters of two reports: bits per second, and channel utilization. Counters that
 * decreased give no rate, and nothing follows across a restart of the device.
 * @param known Null: there is no former report since the device started. The shares are then those since its radios
 *   started.
 */
export function decideRates(known: TimedTelemetry | null, report: TimedTelemetry): Telemetry {
  const { telemetry } = report
  const intervalS = known === null ? null : intervalOf(known, report)
  const before = intervalS === null ? null : (known?.telemetry ?? null)
  const isFirst = known === null
  const bps = <T extends Counters & Rates>(now: T, then: T | undefined): T => ({
    ...now,
    ...ratesOf(now, then, intervalS),
  })
  return {
    ...telemetry,
    radios: telemetry.radios.map((radio, index) => ({
      ...radio,
      ...(isFirst ? sharesOf(radio.airtime) : busyOf(radio, before?.radios[index], intervalS)),
    })),
    ports: matched(telemetry.ports, before?.ports, ({ id }) => id).map(([now, then]) => bps(now, then)),
    wireless: matched(telemetry.wireless, before?.wireless, ({ mac }) => mac).map(([now, then]) => bps(now, then)),
  }
}

/**
 * Returns the seconds between two reports by the clock of the device, which no delay on the way changes, or by the time
 * of their arrival; null if they can't be compared.
 */
export function intervalOf(known: TimedTelemetry, report: TimedTelemetry): number | null {
  const [then, now] = [known.telemetry.unit.uptime_s, report.telemetry.unit.uptime_s]
  const seconds = then === undefined || now === undefined ? (report.atMs - known.atMs) / 1000 : now - then
  return seconds < 0 || seconds > MAX_INTERVAL_S ? null : seconds
}

/** Pairs each item with the former one of the same key. */
export function matched<T>(
  items: readonly T[],
  former: readonly T[] | undefined,
  keyOf: (item: T) => string,
): (readonly [T, T | undefined])[] {
  const byKey = new Map(former?.map((item) => [keyOf(item), item]))
  return items.map((item) => [item, byKey.get(keyOf(item))])
}

function ratesOf(now: Counters, then: (Counters & Rates) | undefined, intervalS: number | null): Rates {
  if (then === undefined || intervalS === null) return {}
  const { rx_bps, tx_bps } = then
  if (intervalS < MIN_INTERVAL_S)
    return { ...(rx_bps !== undefined && { rx_bps }), ...(tx_bps !== undefined && { tx_bps }) }
  const [rx, tx] = [increaseOf(then.rx_bytes, now.rx_bytes), increaseOf(then.tx_bytes, now.tx_bytes)]
  return {
    ...(rx !== null && { rx_bps: Math.round((rx * 8) / intervalS) }),
    ...(tx !== null && { tx_bps: Math.round((tx * 8) / intervalS) }),
  }
}

/** Null if a counter is unknown or went back. */
export function increaseOf(then: number | undefined, now: number | undefined): number | null {
  return then === undefined || now === undefined || now < then ? null : now - then
}

type Busy = Pick<Radio, 'util_all' | 'util_tx' | 'util_non_wifi'>

/** Without a comparable former report, only the values that firmware computes itself remain. */
function busyOf(now: Radio, then: Radio | undefined, intervalS: number | null): Busy {
  if (then === undefined || intervalS === null || then.band !== now.band || then.channel !== now.channel) return {}
  return intervalS < MIN_INTERVAL_S ? keptOf(then) : sharesOf(passed(then.airtime, now.airtime))
}

function keptOf({ util_all, util_tx, util_non_wifi }: Radio): Busy {
  return {
    ...(util_all !== undefined && { util_all }),
    ...(util_tx !== undefined && { util_tx }),
    ...(util_non_wifi !== undefined && { util_non_wifi }),
  }
}

function passed(then: Airtime | undefined, now: Airtime | undefined): Airtime | undefined {
  if (then === undefined || now === undefined) return undefined
  const [active, busy] = [increaseOf(then.active, now.active), increaseOf(then.busy, now.busy)]
  if (active === null || busy === null) return undefined
  const [rx, tx] = [increaseOf(then.rx, now.rx), increaseOf(then.tx, now.tx)]
  return { active, busy, ...(rx !== null && { rx }), ...(tx !== null && { tx }) }
}

function sharesOf(airtime: Airtime | undefined): Busy {
  if (airtime === undefined || airtime.active === 0) return {}
  const { active, busy, rx, tx } = airtime
  const percent = (part: number): number => Math.min(100, Math.max(0, Math.round((part / active) * 100)))
  return {
    util_all: percent(busy),
    ...(tx !== undefined && { util_tx: percent(tx) }),
    // The channel was busy, though the radio was neither sending nor receiving a frame.
    ...(rx !== undefined && tx !== undefined && { util_non_wifi: percent(busy - rx - tx) }),
  }
}
