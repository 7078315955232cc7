/**
 * The report of a device about itself at one moment, in the same terms for every protocol. A driver decodes its
 * messages to it and leaves out what the device did not report. It is stored as a document, so its members are named as
 * on the wire.
 */
export interface Telemetry {
  readonly unit: Unit
  readonly radios: readonly Radio[]
  readonly ports: readonly Port[]
  /** Interfaces with addresses or counters that are not physical ports. */
  readonly interfaces: readonly Interface[]
  readonly neighbors: readonly Neighbor[]
  /** Its latest scan, carried over from report to report until there is a newer one. */
  readonly scan?: Scan
  readonly wireless: readonly WirelessClient[]
  readonly wired: readonly WiredClient[]
}

/** Drivers truncate what exceeds these limits, so that a device can't fill the database or an answer. */
export const telemetryLimits = {
  radios: 8,
  bssids: 32,
  ports: 128,
  interfaces: 64,
  addresses: 8,
  neighbors: 128,
  scanned: 64,
  wireless: 512,
  wired: 2048,
  /** Characters of a name, an SSID or an address. */
  name: 64,
  /** Bytes of a text of a neighbor. */
  description: 255,
} as const

/** Values of the whole device. */
export interface Unit {
  readonly uptime_s?: number
  /** The load of all processors together, 0 to 100. */
  readonly cpu_percent?: number
  /** Averages over 1, 5 and 15 minutes. */
  readonly load_avg?: readonly number[]
  /** Bytes. */
  readonly memory_total?: number
  readonly memory_free?: number
  /** Degrees Celsius. */
  readonly temperature?: number
  /** Watts. */
  readonly poe_budget?: number
  readonly poe_draw?: number
  /** The router's address. */
  readonly gateway?: string
  /** Different SSIDs. */
  readonly num_wlans?: number
  /** All wireless clients, including those beyond the limit of the list. */
  readonly num_clients?: number
  /** All wired clients, including those beyond the limit of the list. */
  readonly num_wired?: number
  /** All entries of the forwarding table, including those beyond the limit of the list. */
  readonly num_macs?: number
}

/** The counts of a device since it started, from the device's point of view. */
export interface Counters {
  readonly rx_bytes?: number
  readonly tx_bytes?: number
  readonly rx_pkts?: number
  readonly tx_pkts?: number
}

/** Computed from the counters of two reports; absent in what a driver decodes. */
export interface Rates {
  readonly rx_bps?: number
  readonly tx_bps?: number
}

export type Band = '24' | '5' | '6'

export const bands: readonly Band[] = ['24', '5', '6']

export interface Radio extends Counters {
  readonly band: Band
  readonly channel?: number
  /** MHz. */
  readonly bandwidth?: number
  /** dBm. */
  readonly power?: number
  /** dBm. */
  readonly noise_floor?: number
  /** Twelve lower-case hex digits each; the first one is shown as the address of the radio. */
  readonly bssids: readonly string[]
  readonly num_clients: number
  readonly num_wlans: number
  /** Milliseconds on its channel since the radio started. */
  readonly airtime?: Airtime
  /** Percent of the time between two reports. */
  readonly util_all?: number
  readonly util_tx?: number
  readonly util_non_wifi?: number
}

export interface Airtime {
  readonly active: number
  readonly busy: number
  readonly rx?: number
  readonly tx?: number
}

export interface Port extends Counters, Rates {
  /** The device's own name of it. */
  readonly id: string
  /** True if the port leads to the rest of the network. */
  readonly uplink?: true
  readonly up?: boolean
  /** Mbit/s. */
  readonly speed?: number
  readonly full_duplex?: boolean
  readonly rx_errors?: number
  readonly tx_errors?: number
  readonly poe_on?: boolean
  /** Watts. */
  readonly power_draw?: number
  readonly xcvr_model?: string
  readonly xcvr_part_number?: string
  readonly xcvr_serial?: string
  /** Entries of the forwarding table on it. */
  readonly mac_count?: number
}

export interface Interface extends Counters {
  readonly name: string
  readonly vlan?: number
  /** With the length of the prefix, such as `10.0.0.1/24`. */
  readonly ips: readonly string[]
  readonly dns?: readonly string[]
  readonly dhcp_server?: string
}

/** A neighbor that the device hears by LLDP. */
export interface Neighbor {
  /** The device's own port. */
  readonly port: string
  /** Twelve lower-case hex digits, where the neighbor identifies itself by one. */
  readonly mac?: string
  readonly chassis_id?: string
  readonly system_name?: string
  readonly system_desc?: string
  readonly port_id?: string
  readonly port_desc?: string
  readonly mgmt_addrs: readonly string[]
  /** True if it forwards traffic of others: a bridge or a router, and no access point. */
  readonly forwards: boolean
}

/** The other access points that an access point hears. */
export interface Scan {
  /** The time of its report, in epoch seconds; absent in what a driver decodes. */
  readonly at_s?: number
  readonly cells: readonly ScannedCell[]
}

export interface ScannedCell {
  readonly bssid: string
  /** dBm. */
  readonly rssi: number
}

export interface WirelessClient extends Counters, Rates {
  readonly mac: string
  readonly band: Band
  readonly channel?: number
  readonly ssid?: string
  readonly bssid?: string
  /** dBm. */
  readonly rssi?: number
  /** dB. */
  readonly snr?: number
  /** Mbit/s. */
  readonly rx_rate?: number
  readonly tx_rate?: number
  readonly tx_retries?: number
  readonly proto?: 'a' | 'ac' | 'ax' | 'b' | 'be' | 'g' | 'n'
  /** Seconds. */
  readonly connected_s?: number
  readonly idle_s?: number
  readonly ip?: string
  readonly hostname?: string
  readonly vlan?: number
}

export interface WiredClient {
  readonly mac: string
  readonly port: string
  readonly vlan?: number
  readonly ip?: string
}
