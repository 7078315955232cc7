import { invalidField } from '../platform/errors.ts'
import type { MapDocument } from '../maps/map.ts'
import { isObject } from '../platform/json/is-object.ts'

/**
 * Maps positions on the former picture to the new one: rotated about the upper left corner, clockwise on the screen,
 * then scaled, then moved. Source: contract, `replaceSiteMapImage`.
 */
export interface Transform {
  readonly rotationDegrees: number
  readonly scale: number
  readonly x: number
  readonly y: number
}

export interface Point {
  readonly x: number
  readonly y: number
}

/** Finer than any drawing; hides rounding errors of the sine. */
const PRECISION = 1e6
/** Pixels: far beyond any picture, and numbers of that precision are still exact. */
const FARTHEST = 1e9

/** @throws AppError invalid if the position would lie beyond any map. */
export function transformPoint({ x, y }: Point, { rotationDegrees, scale, x: moveX, y: moveY }: Transform): Point {
  const radians = (rotationDegrees * Math.PI) / 180
  const [sin, cos] = [Math.sin(radians), Math.cos(radians)]
  // The y axis of a picture points down, so this rotates clockwise.
  return { x: round(scale * (x * cos - y * sin) + moveX), y: round(scale * (x * sin + y * cos) + moveY) }
}

function round(value: number): number {
  if (!(Math.abs(value) <= FARTHEST)) throw invalidField('transform', `moves something by more than ${FARTHEST} pixels`)
  // Adding zero turns -0 into 0, because JSON does not distinguish them.
  return Math.round(value * PRECISION) / PRECISION + 0
}

/** Transforms everything that lies on a map in pixels: paths, geofences, the origin. Missing fields stay missing. */
export function transformMap(doc: MapDocument, transform: Transform): Record<string, unknown> {
  const moved: Record<string, unknown> = { ...doc }
  for (const name of ['wall_path', 'wayfinding_path'])
    if (name in doc) moved[name] = transformPath(doc[name], transform)
  const { sitesurvey_path: surveys, geofences, origin_x: originX, origin_y: originY } = doc
  if (Array.isArray(surveys)) moved['sitesurvey_path'] = surveys.map((path) => transformPath(path, transform))
  if (Array.isArray(geofences)) moved['geofences'] = geofences.map((fence) => transformFence(fence, transform))
  if (typeof originX === 'number' && typeof originY === 'number') {
    const { x, y } = transformPoint({ x: originX, y: originY }, transform)
    Object.assign(moved, { origin_x: Math.round(x), origin_y: Math.round(y) })
  }
  return moved
}

function transformPath(path: unknown, transform: Transform): unknown {
  if (!isObject(path) || !Array.isArray(path['nodes'])) return path
  return { ...path, nodes: path['nodes'].map((node: unknown) => transformNode(node, transform)) }
}

function transformNode(node: unknown, transform: Transform): unknown {
  if (!isObject(node) || !isObject(node['position'])) return node
  const { x, y } = node['position']
  if (typeof x !== 'number' || typeof y !== 'number') return node
  return { ...node, position: { ...node['position'], ...transformPoint({ x, y }, transform) } }
}

function transformFence(fence: unknown, transform: Transform): unknown {
  if (!isObject(fence) || !Array.isArray(fence['vertices'])) return fence
  return { ...fence, vertices: fence['vertices'].map((vertex: unknown) => transformVertex(vertex, transform)) }
}

function transformVertex(vertex: unknown, transform: Transform): unknown {
  if (!isObject(vertex)) return vertex
  const { X, Y } = vertex
  if (typeof X !== 'number' || typeof Y !== 'number') return vertex
  const { x, y } = transformPoint({ x: X, y: Y }, transform)
  return { ...vertex, X: x, Y: y }
}

/**
 * Returns the transformed place and orientation of a device; a device without a place still has none.
 * @param doc The device's document, in wire shape.
 */
export function transformPlace(doc: MapDocument, transform: Transform): Record<string, unknown> {
  const { x, y, orientation } = doc
  const placed = typeof x === 'number' && typeof y === 'number' ? transformPoint({ x, y }, transform) : {}
  if (typeof orientation !== 'number') return placed
  return { ...placed, orientation: wholeDegrees(orientation + transform.rotationDegrees) }
}

/** Within 0 to 359. */
export function wholeDegrees(degrees: number): number {
  return ((Math.round(degrees) % 360) + 360) % 360
}
