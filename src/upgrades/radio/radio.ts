/** The known facts about the position of an access point and the cells that it hears. */
export interface RadioFacts {
  /** The BSSIDs of its own cells, and its MAC. Twelve lower-case hex digits each. */
  readonly bssids: readonly string[]
  /** The foreign cells in its latest scan; null: there is none, or it is too old. */
  readonly scan: readonly HeardCell[] | null
  /** Meters on its floor; null: it is not placed, or the scale of the floor is unknown. */
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

/** The source of an access point's neighbors. */
export type RadioSource = 'scan' | 'map' | 'lldp' | 'none'
