import type { Selectable } from 'kysely'
import type { DeviceSummaryTable } from './tables.ts'
import type { Band, Neighbor, Port, Telemetry } from './telemetry.ts'

export type DeviceSummary = Omit<Selectable<DeviceSummaryTable>, 'orgId' | 'deviceId' | 'type'>

/** Returns the fields of a report that searches and metrics need. */
export function summaryOf(telemetry: Telemetry): DeviceSummary {
  const { radios, ports } = telemetry
  const uplink = uplinkOf(telemetry)
  const neighbor = uplink === null ? null : neighborAt(telemetry, uplink)
  const macs = [...new Set(radios.flatMap(({ bssids }) => bssids))]
  return {
    ...radioColumns(telemetry),
    eth0PortSpeed: uplink?.speed ?? null,
    lldpSystemName: neighbor?.system_name ?? null,
    lldpSystemDesc: neighbor?.system_desc ?? null,
    lldpPortId: neighbor?.port_id ?? null,
    lldpPortDesc: neighbor?.port_desc ?? null,
    lldpMgmtAddr: neighbor?.mgmt_addrs[0] ?? null,
    radioMacs: macs.length === 0 ? null : macs,
    activePorts: ports.length === 0 ? null : ports.filter(({ up }) => up === true).length,
    totalPorts: ports.length === 0 ? null : ports.length,
    reportBytes: stepOf(shownBytesOf(telemetry)),
  }
}

/** Returns the port that clients call `eth0`: the port of this name, or else the first uplink. */
export function uplinkOf({ ports }: Pick<Telemetry, 'ports'>): Port | null {
  return ports.find(({ id }) => id === 'eth0') ?? ports.find(({ uplink }) => uplink === true) ?? null
}

/** The neighbor at a port; one that forwards traffic before others. */
export function neighborAt({ neighbors }: Pick<Telemetry, 'neighbors'>, { id }: Pick<Port, 'id'>): Neighbor | null {
  const here = neighbors.filter(({ port }) => port === id)
  return here.find(({ forwards }) => forwards) ?? here[0] ?? null
}

/** If several radios use one band, the columns describe the first one. */
function radioColumns({ radios }: Telemetry) {
  const of = (band: Band) => radios.find((radio) => radio.band === band)
  const [low, middle, high] = [of('24'), of('5'), of('6')]
  return {
    band24Channel: low?.channel ?? null,
    band24Bandwidth: low?.bandwidth ?? null,
    band24Power: low?.power ?? null,
    band5Channel: middle?.channel ?? null,
    band5Bandwidth: middle?.bandwidth ?? null,
    band5Power: middle?.power ?? null,
    band6Channel: high?.channel ?? null,
    band6Bandwidth: high?.bandwidth ?? null,
    band6Power: high?.power ?? null,
  }
}

/** The bytes that statistics add to each port, radio and interface besides the values of the report. */
const ITEM_BYTES = 640

/** Returns an upper bound for the bytes of a report in statistics: `wire-report.test.ts` compares them. */
export function shownBytesOf({ unit, radios, ports, interfaces, neighbors }: Telemetry): number {
  const items = radios.length + ports.length + interfaces.length + neighbors.length
  // Ports and neighbors are shown in two places.
  return 512 + 2 * Buffer.byteLength(JSON.stringify([unit, ports, interfaces, neighbors])) + items * ITEM_BYTES
}

/** Rounds up in steps, so that a counter with one more digit changes nothing. */
function stepOf(bytes: number): number {
  return 2 ** Math.ceil(Math.log2(bytes))
}
