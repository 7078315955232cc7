/** Where an access point is and what it hears, as far as that is known. */
export interface RadioFacts {
  /** Those of its own cells, and its MAC. Twelve lower-case hex digits each. */
  readonly bssids: readonly string[]
  /** The cells of others in its latest scan; null: there is none, or it is too old. */
  readonly scan: readonly HeardCell[] | null
  /** Metres on its floor; null: it is not placed, or the scale of the floor is unknown. */
  readonly position: { readonly mapId: string; readonly x: number; readonly y: number } | null
  /** The switch or router that it hears by LLDP. */
  readonly parent: string | null
  /** Its uplink is another access point. */
  readonly isMesh: boolean
}

export interface HeardCell {
  readonly bssid: string
  /** dBm. */
  readonly rssi: number
}

/** By MAC of the device. */
export type RadioFactsByMac = ReadonlyMap<string, RadioFacts>

/** How the neighbors of an access point are known. */
export type RadioSource = 'scan' | 'map' | 'lldp' | 'none'
