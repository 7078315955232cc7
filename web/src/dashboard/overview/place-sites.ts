/** A site with its place on earth, in degrees. */
export interface Place {
  readonly id: string
  readonly lat: number
  readonly lng: number
}

/** Sites that are too near to each other to be drawn apart. */
export interface Cluster {
  readonly ids: readonly string[]
  /** Shares of the width and of the height, from the top left corner. */
  readonly x: number
  readonly y: number
}

export interface Line {
  /** Share of the width or of the height. */
  readonly at: number
  readonly label: string
}

export interface SiteMapDrawing {
  readonly clusters: readonly Cluster[]
  readonly meridians: readonly Line[]
  readonly parallels: readonly Line[]
}

/** Room around the outermost sites, as a share of the span. */
const MARGIN = 0.12
/** The least span in degrees: the sites of one town are not blown up to the whole map. */
const LEAST_SPAN = 0.5
/** Sites nearer than this share of the width are one mark. */
const NEAR = 0.035
const steps = [45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1] as const
/** Lines of the grid in each direction, at least. */
const LEAST_LINES = 3

/**
 * Draws places on a plane: a degree is as long in both directions in the middle of the map. The map is cut where the
 * fewest sites are, so that those on both sides of the date line are neighbors.
 * @param ratio Width by height of the drawing.
 */
export function placeSites(places: readonly Place[], ratio: number): SiteMapDrawing {
  if (places.length === 0) return { clusters: [], meridians: [], parallels: [] }
  const west = westmost(places.map(({ lng }) => lng))
  const turned = places.map(({ id, lat, lng }) => ({ id, lat, lng: west + modulo(lng - west, 360) }))
  const lats = turned.map(({ lat }) => lat)
  const lngs = turned.map(({ lng }) => lng)
  const middle = { lat: middleOf(lats), lng: middleOf(lngs) }
  const stretch = Math.max(0.2, Math.cos((middle.lat * Math.PI) / 180))
  const height = (1 + 2 * MARGIN) * Math.max(LEAST_SPAN, spanOf(lats), (spanOf(lngs) * stretch) / ratio)
  const width = (height * ratio) / stretch
  const xOf = (lng: number): number => 0.5 + (lng - middle.lng) / width
  const yOf = (lat: number): number => 0.5 - (lat - middle.lat) / height
  return {
    clusters: cluster(
      turned.map(({ id, lat, lng }) => ({ ids: [id], x: xOf(lng), y: yOf(lat) })),
      ratio,
    ),
    meridians: linesBetween(middle.lng - width / 2, middle.lng + width / 2, (lng) => ({
      at: xOf(lng),
      label: lngText(lng),
    })),
    parallels: linesBetween(Math.max(-90, middle.lat - height / 2), Math.min(90, middle.lat + height / 2), (lat) => ({
      at: yOf(lat),
      label: degrees(lat, 'N', 'S'),
    })),
  }
}

/** Returns the longitude after the widest gap. */
function westmost(lngs: readonly number[]): number {
  const sorted = lngs.map((lng) => modulo(lng, 360)).toSorted((one, other) => one - other)
  let best = { gap: -1, lng: 0 }
  for (const [index, lng] of sorted.entries()) {
    const before = sorted.at(index - 1) ?? lng
    const gap = index === 0 ? lng - before + 360 : lng - before
    if (gap > best.gap) best = { gap, lng }
  }
  return best.lng > 180 ? best.lng - 360 : best.lng
}

function cluster(marks: readonly Cluster[], ratio: number): readonly Cluster[] {
  const found: Cluster[] = []
  for (const mark of marks) {
    const near = found.findIndex(({ x, y }) => Math.hypot(x - mark.x, (y - mark.y) / ratio) < NEAR)
    const other = found[near]
    if (other === undefined) found.push(mark)
    else found[near] = { ...other, ids: [...other.ids, ...mark.ids] }
  }
  return found
}

function linesBetween(from: number, to: number, lineAt: (degree: number) => Line): readonly Line[] {
  const step = steps.find((each) => (to - from) / each >= LEAST_LINES) ?? steps.at(-1) ?? 1
  const first = Math.ceil(from / step)
  const count = Math.max(0, Math.floor(to / step) - first + 1)
  return Array.from({ length: count }, (_, index) => lineAt((first + index) * step))
}

function lngText(lng: number): string {
  return degrees(modulo(lng + 180, 360) - 180, 'E', 'W')
}

function degrees(value: number, positive: string, negative: string): string {
  const rounded = Math.round(value * 10) / 10
  return `${Math.abs(rounded)}°${rounded === 0 ? '' : rounded > 0 ? positive : negative}`
}

function modulo(value: number, base: number): number {
  return ((value % base) + base) % base
}

function middleOf(values: readonly number[]): number {
  return (Math.min(...values) + Math.max(...values)) / 2
}

function spanOf(values: readonly number[]): number {
  return Math.max(...values) - Math.min(...values)
}
