/** The content of a bundle, whatever its format. */
export interface Project {
  readonly floors: readonly Floor[]
  /** Access points that lie on a floor. */
  readonly accessPoints: readonly PlannedAp[]
}

export interface Floor {
  /** A UUID. */
  readonly id: string
  readonly name: string
  /** Name of the entry with its picture; null if it has none that is supported. */
  readonly picture: string | null
  /** Why there is no picture. */
  readonly note: string | null
  /** In the units of the positions; null if positions are pixels of the picture. */
  readonly size: { readonly width: number; readonly height: number } | null
  /** The length of one of these units in meters. */
  readonly meters: number | null
}

export interface PlannedAp {
  readonly floorId: string
  readonly name: string
  readonly x: number
  readonly y: number
  /** Meters above the floor. */
  readonly height: number | null
  readonly orientationDegrees: number | null
}

/** Options for reading a bundle. */
export interface ImportWish {
  /** Floors without access points too. */
  readonly allFloors: boolean
  readonly heights: boolean
  readonly orientations: boolean
  /** MACs by the name that the project has for an access point. */
  readonly macs: ReadonlyMap<string, string>
}
