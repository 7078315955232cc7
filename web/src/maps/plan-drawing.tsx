import { type Point, type Segment, type SiteMap, type Size, cornersOf, segmentsOf } from './map.ts'

interface PlanDrawingProps {
  readonly map: SiteMap
  readonly size: Size
  /** The points of the current drawing. */
  readonly points: readonly Point[]
}

/** The drawings on a plan: walls, ways, geofences, and the points that are being marked. */
export function PlanDrawing({ map, size: { width, height }, points }: PlanDrawingProps) {
  return (
    <svg className="plan-drawing" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {(map.geofences ?? []).map((geofence, index) => {
        const corners = cornersOf(geofence)
        const [first] = corners
        return (
          // Geofences have no ids, and two may have one name.
          // oxlint-disable-next-line react/no-array-index-key
          <g key={index}>
            <polygon className="plan-geofence" points={textOf(corners)} />
            {first !== undefined && (
              <text x={first.x + width / 100} y={first.y + width / 45} fontSize={width / 60}>
                {geofence.name}
              </text>
            )}
          </g>
        )
      })}
      <Lines segments={segmentsOf(map.wayfinding_path)} className="plan-way" />
      <Lines segments={segmentsOf(map.wall_path)} className="plan-wall" />
      <polyline className="plan-marked" points={textOf(points)} />
      {points.map(({ x, y }) => (
        <circle key={`${x} ${y}`} className="plan-mark" cx={x} cy={y} r={width / 200} />
      ))}
    </svg>
  )
}

function Lines({ segments, className }: { readonly segments: readonly Segment[]; readonly className: string }) {
  return segments.map(([from, to]) => (
    <line
      key={`${from.x} ${from.y} ${to.x} ${to.y}`}
      className={className}
      x1={from.x}
      y1={from.y}
      x2={to.x}
      y2={to.y}
    />
  ))
}

function textOf(points: readonly Point[]): string {
  return points.map(({ x, y }) => `${x},${y}`).join(' ')
}
