import { type KeyboardEvent, type MouseEvent, useEffect, useRef, useState } from 'react'
import { type Point, type Size, styleAt } from '../map.ts'
import { pointUnder, stepFrom } from './pointing.ts'

interface PlanSurfaceProps {
  readonly size: Size
  readonly onPoint: (at: Point) => void
}

/** Lies over the plan while points are being marked: by a click, or by the arrow keys and Enter. */
export function PlanSurface({ size, onPoint }: PlanSurfaceProps) {
  const [cross, setCross] = useState<Point>({ x: Math.round(size.width / 2), y: Math.round(size.height / 2) })
  const surface = useRef<HTMLButtonElement>(null)
  useEffect(() => surface.current?.focus({ preventScroll: true }), [])
  const click = (event: MouseEvent<HTMLElement>): void => {
    // A key presses a button without a pointer.
    onPoint(event.detail === 0 ? cross : pointUnder(event, event.currentTarget, size))
  }
  const press = (event: KeyboardEvent): void => {
    const point = stepFrom(cross, event, size)
    if (point === null) return
    event.preventDefault()
    setCross(point)
  }
  return (
    <button
      ref={surface}
      type="button"
      className="plan-surface"
      aria-label={`Mark a point: move the cross by the arrow keys, and press Enter. It is at ${cross.x}, ${cross.y}`}
      onClick={click}
      onKeyDown={press}
    >
      <span className="plan-cross" aria-hidden="true" style={styleAt(cross, size)} />
    </button>
  )
}
