import { type KeyboardEvent, type PointerEvent, useRef } from 'react'
import { macText, stateOf } from '../../devices/device.ts'
import { parseReport } from '../../devices/report.ts'
import { type Point, type Size, styleAt } from '../map.ts'
import type { PlacedDevice } from '../placement.ts'
import { pointUnder, stepFrom } from './pointing.ts'

interface DeviceMarkerProps {
  readonly device: PlacedDevice
  readonly size: Size
  readonly isChosen: boolean
  readonly mayMove: boolean
  readonly onChoose: () => void
  /** Called while it is on its way. */
  readonly onMove: (at: Point) => void
  /** Called with its new place. */
  readonly onPlace: (at: Point) => void
}

/** A device on a plan, in the color of its state. It is moved by dragging, or by the arrow keys. */
export function DeviceMarker({ device, size, isChosen, mayMove, onChoose, onMove, onPlace }: DeviceMarkerProps) {
  const { stats, at, orientation } = device
  const { tone, text } = stateOf(stats.status, parseReport(stats).upgradeStep)
  const name = stats.name || macText(stats.mac)
  // The place to store once the pointer or the key is released; null while nothing moves.
  const target = useRef<Point | null>(null)
  const move = (point: Point): void => {
    target.current = point
    onMove(point)
  }
  const release = (): void => {
    if (target.current !== null) onPlace(target.current)
    target.current = null
  }
  const drag = (event: PointerEvent<HTMLElement>): void => {
    if (!mayMove || !event.currentTarget.hasPointerCapture(event.pointerId)) return
    move(pointUnder(event, event.currentTarget.parentElement, size))
  }
  const press = (event: KeyboardEvent): void => {
    const point = mayMove ? stepFrom(target.current ?? at, event, size) : null
    if (point === null) return
    event.preventDefault()
    move(point)
  }
  return (
    <button
      type="button"
      className="plan-device"
      data-tone={tone}
      aria-label={`${name}, ${text}, at ${at.x}, ${at.y}`}
      aria-pressed={isChosen}
      title={name}
      style={styleAt(at, size)}
      onClick={onChoose}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={drag}
      onPointerUp={release}
      onPointerCancel={release}
      onKeyDown={press}
      onKeyUp={release}
    >
      {orientation !== null && <span className="plan-heading" style={{ rotate: `${orientation}deg` }} />}
      <span className="state-dot" aria-hidden="true" />
      <span className="plan-name" aria-hidden="true">
        {name}
      </span>
    </button>
  )
}
