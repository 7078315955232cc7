import { type Airtime, type Band, type Radio, telemetryLimits } from '../../../devices/telemetry/telemetry.ts'
import {
  type Fields,
  counterOf,
  dbmOf,
  fieldsOf,
  integerIn,
  listOf,
  macOf,
  numberIn,
  textOf,
} from '../../report-values.ts'
import { addCounters, countersOf } from './counters.ts'
import { withoutUndefined } from '../../../platform/records.ts'

const { radios: MAX, bssids: MAX_BSSIDS, interfaces: MAX_INTERFACES, name: MAX_NAME } = telemetryLimits

const CHANNEL = [1, 233] as const
const BANDWIDTH_MHZ = [1, 320] as const
const POWER_DBM = [-10, 60] as const

/** A radio network that the device offers, and on which radio. */
export interface Cell {
  readonly ssid: string | undefined
  readonly bssid: string | undefined
  readonly radio: Radio
  readonly associations: readonly unknown[]
}

interface RadioPlace {
  readonly radio: Radio
  readonly phy: unknown
  /** Its position in the message, to which cells refer. */
  readonly index: number
}

export function decodeRadios(state: Fields): { readonly radios: readonly Radio[]; readonly cells: readonly Cell[] } {
  const places = listOf(state['radios'], MAX).flatMap((value, index): RadioPlace[] => {
    const one = fieldsOf(value)
    const radio = radioOf(one)
    return radio === undefined ? [] : [{ radio, phy: one['phy'], index }]
  })
  const cells = cellsOf(state).flatMap((cell) => {
    const place = placeOf(cell, places)
    return place === undefined ? [] : [{ cell, place }]
  })
  const radios = places.map((place) =>
    summarize(
      place.radio,
      cells.filter((one) => one.place === place).map(({ cell }) => cell),
    ),
  )
  const radioOfPlace = new Map(places.map((place, index) => [place, radios[index] ?? place.radio]))
  return {
    radios,
    cells: cells.map(({ cell, place }) => ({
      ssid: textOf(cell['ssid'], MAX_NAME),
      bssid: macOf(cell['bssid']),
      radio: radioOfPlace.get(place) ?? place.radio,
      associations: listOf(cell['associations'], telemetryLimits.wireless),
    })),
  }
}

/** Only the cells of the device itself: as a station or in a mesh, it also lists the cells of others. */
function cellsOf(state: Fields): Fields[] {
  return listOf(state['interfaces'], MAX_INTERFACES)
    .flatMap((one) => listOf(fieldsOf(one)['ssids'], MAX_BSSIDS))
    .slice(0, MAX * MAX_BSSIDS)
    .map(fieldsOf)
    .filter(({ mode }) => mode === undefined || mode === 'ap')
}

/** Undefined for radios that are not Wi-Fi at 2.4, 5 or 6 GHz. */
function radioOf(one: Fields): Radio | undefined {
  const channel = integerIn(one['channel'], CHANNEL)
  const band = bandOf(one, channel)
  if (band === undefined) return undefined
  const survey = surveyOf(one)
  return withoutUndefined({
    band,
    channel,
    bandwidth: integerIn(one['channel_width'], BANDWIDTH_MHZ),
    power: integerIn(one['tx_power'], POWER_DBM),
    noise_floor: dbmOf(one['noise'] ?? survey['noise']),
    bssids: [],
    num_clients: 0,
    num_wlans: 0,
    airtime: airtimeOf(one, survey),
    // Firmware that can't measure writes 0.
    util_all: integerIn(one['chanUtil'], [1, 100]),
  })
}

const bandOfName: Readonly<Record<string, Band>> = {
  '2G': '24',
  '5G': '5',
  '5G-lower': '5',
  '5G-upper': '5',
  '6G': '6',
}

function bandOf({ band, frequency }: Fields, channel: number | undefined): Band | undefined {
  const [first] = typeof band === 'string' ? [band] : listOf(band, 1)
  if (typeof first === 'string') return bandOfName[first]
  const mhz = numberIn(listOf(frequency, 1)[0], [2400, 7125])
  if (mhz !== undefined) return mhz < 2500 ? '24' : mhz < 5945 ? '5' : '6'
  // Older firmware, which had no radios at 6 GHz, reports only the channel.
  if (channel === undefined) return undefined
  return channel <= 14 ? '24' : channel <= 177 ? '5' : undefined
}

/** The survey of the channel that the radio is on. */
function surveyOf({ survey, frequency }: Fields): Fields {
  const used = listOf(frequency, 8)
  const channels = listOf(survey, 256).map(fieldsOf)
  return channels.find((one) => used.includes(one['frequency'])) ?? channels[0] ?? {}
}

/** Current firmware surveys channels; older firmware reports the sums of the radio. */
function airtimeOf(one: Fields, survey: Fields): Airtime | undefined {
  const active = counterOf(one['active_ms'] ?? survey['time'])
  const busy = counterOf(one['busy_ms'] ?? survey['busy'])
  if (active === undefined || busy === undefined) return undefined
  return withoutUndefined({
    active,
    busy,
    rx: counterOf(one['receive_ms'] ?? survey['time_rx']),
    tx: counterOf(one['transmit_ms'] ?? survey['time_tx']),
  })
}

/**
 * Radios without a network are missing in some messages, so the numbers of references may be wrong; the path of the
 * radio is not.
 */
function placeOf(cell: Fields, places: readonly RadioPlace[]): RadioPlace | undefined {
  const { phy, band } = cell
  const reference = fieldsOf(cell['radio'])['$ref']
  const [, digits] = (typeof reference === 'string' && /^#\/radios\/(\d{1,3})$/.exec(reference)) || []
  const paths = typeof phy === 'string' ? [phy, ...(typeof band === 'string' ? [`${phy}:${band}`] : [])] : []
  const byPath = places.filter((place) => paths.some((path) => path === place.phy))
  return byPath.length === 1 ? byPath[0] : places.find(({ index }) => index === Number(digits))
}

function summarize(radio: Radio, cells: readonly Fields[]): Radio {
  const bssids = new Set(cells.flatMap(({ bssid }) => macOf(bssid) ?? []))
  return {
    ...radio,
    ...cells.map(({ counters }) => countersOf(fieldsOf(counters))).reduce(addCounters, {}),
    bssids: [...bssids].toSorted().slice(0, MAX_BSSIDS),
    num_clients: cells.reduce(
      (sum, { associations }) => sum + (Array.isArray(associations) ? associations.length : 0),
      0,
    ),
    num_wlans: new Set(cells.map(({ ssid }) => ssid)).size,
  }
}
