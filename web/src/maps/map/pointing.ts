import type { KeyboardEvent } from 'react'
import { type Point, type Size, withinSize } from '../map.ts'

/** A key moves by this share of the width, or by one pixel with Shift. */
const KEY_SHARE = 0.01

const directions: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/** Returns the point of the plan under a pointer; `plan` is the element that the plan fills. */
export function pointUnder(
  { clientX, clientY }: { readonly clientX: number; readonly clientY: number },
  plan: Element | null,
  size: Size,
): Point {
  const { left, top, width, height } = plan?.getBoundingClientRect() ?? new DOMRect()
  return withinSize({ x: ((clientX - left) / width) * size.width, y: ((clientY - top) / height) * size.height }, size)
}

/** Returns where an arrow key leads from a point; null for other keys. */
export function stepFrom(from: Point, { key, shiftKey }: KeyboardEvent, size: Size): Point | null {
  const direction = directions[key]
  if (direction === undefined) return null
  const step = shiftKey ? 1 : Math.max(1, KEY_SHARE * size.width)
  return withinSize({ x: from.x + direction[0] * step, y: from.y + direction[1] * step }, size)
}
