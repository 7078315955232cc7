import { useState } from 'react'
import { QuietButton } from '../../display/forms/button.tsx'
import { type Point, type SiteMap, picturePath, sizeOf } from '../map.ts'
import { PlanDrawing } from '../plan-drawing.tsx'
import { DeviceMarker } from './device-marker.tsx'
import { PlanSurface } from './plan-surface.tsx'
import type { SiteDevices } from './use-site-devices.ts'

const zooms = [100, 150, 200, 300, 400] as const

interface PlanViewProps {
  readonly map: SiteMap
  readonly devices: SiteDevices
  readonly mayWrite: boolean
  readonly chosen: string | null
  readonly onChoose: (mac: string) => void
  readonly points: readonly Point[]
  /** Called with points that people mark; null while no points are expected. */
  readonly onPoint: ((at: Point) => void) | null
}

/** The plan with its picture, the drawings on it, and its devices. */
export function PlanView({ map, devices, mayWrite, chosen, onChoose, points, onPoint }: PlanViewProps) {
  const [zoom, setZoom] = useState(0)
  const size = sizeOf(map)
  const picture = picturePath(map)
  const percent = zooms[zoom] ?? 100
  const meters = map.ppm === undefined || map.ppm <= 0 ? null : size.width / map.ppm
  return (
    <section className="panel" aria-label="Floor plan">
      <div className="plan-scroller">
        <div className="plan" style={{ width: `${percent}%`, aspectRatio: `${size.width} / ${size.height}` }}>
          {picture !== undefined && <img src={picture} alt="" draggable={false} />}
          <PlanDrawing map={map} size={size} points={points} />
          {devices.placed.map((device) => (
            <DeviceMarker
              key={device.stats.mac}
              device={device}
              size={size}
              isChosen={device.stats.mac === chosen}
              mayMove={mayWrite && device.stats['locked'] !== true}
              onChoose={() => onChoose(device.stats.mac)}
              onMove={(at) => devices.move(device.stats.mac, at)}
              onPlace={(at) => devices.place(device.stats.mac, at)}
            />
          ))}
          {onPoint !== null && <PlanSurface size={size} onPoint={onPoint} />}
        </div>
      </div>
      <p className="plan-foot">
        <span className="muted">
          {meters === null ? 'No scale yet' : `${meters.toFixed(1)} m wide`} · north is{' '}
          {map.orientation === undefined || map.orientation === 0 ? 'up' : `turned by ${map.orientation}° to the right`}
        </span>
        <span>
          <QuietButton aria-label="Smaller" isOff={zoom === 0} onClick={() => setZoom(zoom - 1)}>
            −
          </QuietButton>{' '}
          {percent} %{' '}
          <QuietButton aria-label="Larger" isOff={zoom === zooms.length - 1} onClick={() => setZoom(zoom + 1)}>
            +
          </QuietButton>
        </span>
      </p>
    </section>
  )
}
