import { type Point, type SiteMap, scaleOf, sizeOf, withGeofence, withLine } from '../map.ts'
import type { MapChange } from '../use-maps.ts'

/** Something that people draw on a floor plan, point by point. */
export interface Drawing {
  readonly action: string
  readonly hint: string
  readonly least: number
  /** Absent: no limit. */
  readonly most?: number
  /** The question besides the points; absent: none. */
  readonly question?: string
  /** Returns the change of the map; null if the answer to the question can't be used. */
  readonly changeOf: (map: SiteMap, points: readonly Point[], answer: string) => MapChange | null
}

export const drawings: readonly Drawing[] = [
  {
    action: 'Set the scale',
    hint: 'Mark both ends of something whose length you know.',
    least: 2,
    most: 2,
    question: 'Length in meters',
    changeOf(_map, [from, to], answer) {
      const ppm = from === undefined || to === undefined ? null : scaleOf([from, to], Number(answer))
      return ppm === null ? null : { ppm }
    },
  },
  {
    action: 'Draw walls',
    hint: 'Mark the corners of a wall. A point at the end of another wall joins it.',
    least: 2,
    changeOf: (map, points) => ({ wall_path: withLine(map.wall_path, points, sizeOf(map)) }),
  },
  {
    action: 'Draw a path',
    hint: 'Mark where people walk. A point on another path joins it.',
    least: 2,
    changeOf: (map, points) => ({ wayfinding_path: withLine(map.wayfinding_path, points, sizeOf(map)) }),
  },
  {
    action: 'Draw a geofence',
    hint: 'Mark the corners of the area.',
    least: 3,
    question: 'Name',
    changeOf: (map, points, answer) =>
      answer.trim() === '' ? null : { geofences: [...withGeofence(map.geofences, answer.trim(), points)] },
  },
]
