import type { Schemas } from '../api/client.ts'

export type SiteMap = Schemas['SiteMap']
type MapPath = Schemas['MapPath']
type Geofence = Schemas['MapGeofence']

/** In pixels from the top left corner of the picture. */
export interface Point {
  readonly x: number
  readonly y: number
}

export interface Size {
  readonly width: number
  readonly height: number
}

export type Segment = readonly [Point, Point]

/** The size of the drawing area if a plan has neither a picture nor a size. */
const BLANK: Size = { width: 1200, height: 800 }

/** A new point so near to a node, as a share of the width, is that node: lines are joined there. */
const JOIN_SHARE = 0.015

export function sizeOf({ width, height }: Pick<SiteMap, 'width' | 'height'>): Size {
  return width !== undefined && height !== undefined && width > 0 && height > 0 ? { width, height } : BLANK
}

/** Returns the address of the picture on the server of the page, whatever host name the server was reached by. */
export function picturePath({ url }: Pick<SiteMap, 'url'>): string | undefined {
  return url === undefined ? undefined : new URL(url).pathname
}

export function withinSize({ x, y }: Point, { width, height }: Size): Point {
  return { x: Math.round(Math.min(width, Math.max(0, x))), y: Math.round(Math.min(height, Math.max(0, y))) }
}

/** Puts the floors of a building together, the lowest first. */
export function orderMaps<Row extends Pick<SiteMap, 'mapstack_id' | 'mapstack_floor' | 'name'>>(
  maps: readonly Row[],
): readonly Row[] {
  return maps.toSorted(
    (one, other) =>
      (one.mapstack_id ?? '').localeCompare(other.mapstack_id ?? '') ||
      (one.mapstack_floor ?? 0) - (other.mapstack_floor ?? 0) ||
      (one.name ?? '').localeCompare(other.name ?? '', 'en', { numeric: true }),
  )
}

/** Returns the lines between the nodes of walls or ways, each once. */
export function segmentsOf(path: MapPath | undefined): readonly Segment[] {
  const places = new Map((path?.nodes ?? []).map((node) => [node.name ?? '', pointOf(node.position)]))
  const segments = new Map<string, Segment>()
  for (const { name = '', edges = {} } of path?.nodes ?? [])
    for (const other of Object.keys(edges)) {
      const from = places.get(name)
      const to = places.get(other)
      if (from !== undefined && to !== undefined) segments.set([name, other].toSorted().join('\n'), [from, to])
    }
  return [...segments.values()]
}

/** Adds a line of points to walls or ways. Points at an existing node join it. */
export function withLine(path: MapPath | undefined, points: readonly Point[], { width }: Size): MapPath {
  const nodes = [...(path?.nodes ?? [])]
  const names = points.map((point) => {
    const known = nodes.find(({ position }) => distance(pointOf(position), point) <= JOIN_SHARE * width)
    if (known?.name !== undefined) return known.name
    const name = freshName(new Set(nodes.map((node) => node.name)))
    nodes.push({ name, position: { ...point }, edges: {} })
    return name
  })
  for (const [index, name] of names.entries()) {
    const next = names[index + 1]
    const place = nodes.findIndex((node) => node.name === name)
    const node = nodes[place]
    if (next !== undefined && next !== name && node !== undefined)
      nodes[place] = { ...node, edges: { ...node.edges, [next]: '1' } }
  }
  return { coordinate: 'actual', ...path, nodes }
}

export function cornersOf({ vertices = [] }: Geofence): readonly Point[] {
  return vertices.map(({ X = 0, Y = 0 }) => ({ x: X, y: Y }))
}

export function withGeofence(
  geofences: readonly Geofence[] | undefined,
  name: string,
  corners: readonly Point[],
): readonly Geofence[] {
  return [...(geofences ?? []), { name, vertices: corners.map(({ x, y }) => ({ X: x, Y: y })) }]
}

/** Returns how many pixels a meter has, given both ends of a line and its length in meters; null for no length. */
export function scaleOf([from, to]: Segment, meters: number): number | null {
  const pixels = distance(from, to)
  return pixels > 0 && meters > 0 && Number.isFinite(meters) ? pixels / meters : null
}

/** Returns the position of an element on the plan. */
export function styleAt({ x, y }: Point, { width, height }: Size): { readonly left: string; readonly top: string } {
  return { left: `${(100 * x) / width}%`, top: `${(100 * y) / height}%` }
}

function pointOf(position: Partial<Point> | undefined): Point {
  return { x: position?.x ?? 0, y: position?.y ?? 0 }
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y)
}

function freshName(taken: ReadonlySet<string | undefined>): string {
  let number = taken.size + 1
  while (taken.has(`N${number}`)) number += 1
  return `N${number}`
}
