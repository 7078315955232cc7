import type { Draft } from './draft.ts'
import { type PhaseShape, shapePhases } from './phase-shapes.ts'

const WIDTH = 480
const HEIGHT = 96
const GAP = 3

/** The phases from left to right, as stairs: how many of the devices have the new version after each of them. */
export function PhaseDrawing({ draft }: { readonly draft: Draft }) {
  const shapes = shapePhases(draft)
  if (shapes.length === 0) return null
  const step = WIDTH / shapes.length
  return (
    <svg className="drawing" viewBox={`0 0 ${WIDTH} ${HEIGHT + 22}`} role="img" aria-label={describe(shapes)}>
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

function Step({ shape: { from, to, isGated }, x, width, isLabeled }: StepProps) {
  const heightOf = (percent: number): number => (percent / 100) * HEIGHT
  const added = Math.max(2, heightOf(to - from))
  return (
    <>
      <rect className="drawing-before" x={x} y={HEIGHT - heightOf(from)} width={width} height={heightOf(from)} />
      <rect className="drawing-phase" x={x} y={HEIGHT - heightOf(from) - added} width={width} height={added} />
      {isGated && <line className="drawing-gate" x1={x + width + 1} x2={x + width + 1} y1={0} y2={HEIGHT} />}
      {isLabeled && (
        <text x={x + width / 2} y={HEIGHT + 16} textAnchor="middle">
          {to} %
        </text>
      )}
    </>
  )
}

function describe(shapes: readonly PhaseShape[]): string {
  const ends = shapes.map(({ to, isGated }) => `${Math.round(to)} %${isGated ? ' and then an approval' : ''}`)
  return `Upgraded after each phase: ${ends.join(', ')}`
}
