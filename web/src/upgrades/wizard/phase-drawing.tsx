import type { Draft } from './draft.ts'
import { type PhaseShape, describePhases, isApprovedFirst, shapePhases } from './phase-shapes.ts'

const WIDTH = 480
const HEIGHT = 96
const GAP = 3
/** For the gate before the first phase. */
const MARGIN = 3

/**
 * The phases from left to right, as stairs: how many of the devices have the new version after each of them. Lines between them are
 * gates.
 */
export function PhaseDrawing({ draft }: { readonly draft: Draft }) {
  const shapes = shapePhases(draft)
  if (shapes.length === 0) return null
  const step = WIDTH / shapes.length
  return (
    <svg
      className="drawing"
      viewBox={`${-MARGIN} 0 ${WIDTH + MARGIN} ${HEIGHT + 22}`}
      role="img"
      aria-label={describePhases(draft)}
    >
      {isApprovedFirst(draft) && <Gate wait="approval" x={1 - MARGIN} />}
      {shapes.map((shape, index) => (
        <Step key={shape.to} shape={shape} x={index * step} width={step - GAP} isLabeled={shapes.length <= 8} />
      ))}
    </svg>
  )
}

interface StepProps {
  readonly shape: PhaseShape
  readonly x: number
  readonly width: number
  readonly isLabeled: boolean
}

function Step({ shape: { from, to, wait }, x, width, isLabeled }: StepProps) {
  const heightOf = (percent: number): number => (percent / 100) * HEIGHT
  const added = Math.max(2, heightOf(to - from))
  return (
    <>
      <rect className="drawing-before" x={x} y={HEIGHT - heightOf(from)} width={width} height={heightOf(from)} />
      <rect className="drawing-phase" x={x} y={HEIGHT - heightOf(from) - added} width={width} height={added} />
      {wait !== null && <Gate wait={wait} x={x + width + 1} />}
      {isLabeled && (
        <text x={x + width / 2} y={HEIGHT + 16} textAnchor="middle">
          {to} %
        </text>
      )}
    </>
  )
}

function Gate({ wait, x }: { readonly wait: NonNullable<PhaseShape['wait']>; readonly x: number }) {
  return <line className="drawing-gate" data-wait={wait} x1={x} x2={x} y1={0} y2={HEIGHT} />
}
