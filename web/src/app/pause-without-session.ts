import { type QueryClient, focusManager } from '@tanstack/react-query'
import type { Server } from '../api/client.ts'

const CHECK_MS = 2000
const comesToFront = ['focus', 'visibilitychange', 'pageshow'] as const

/**
 * Stops everything that a page does by itself while its session has ended, and reads everything again then. The session ends and
 * goes on in other tabs too.
 */
export function pauseWithoutSession({ session, stream }: Server, queries: QueryClient): void {
  const check = (): void => void session.check()
  setInterval(check, CHECK_MS)
  for (const type of comesToFront) globalThis.addEventListener(type, check, { capture: true })
  session.subscribe(() => {
    const isEnded = session.isEnded()
    stream.setPaused(isEnded)
    focusManager.setFocused(isEnded ? false : undefined)
    if (!isEnded) void readAgain(queries)
  })
  const listen = (event: KeyboardEvent): void => {
    if (!session.isEnded()) return
    // What lies below is as it was when it is uncovered, with its open dialogs.
    event.stopImmediatePropagation()
    if (event.key === 'Escape') event.preventDefault()
  }
  globalThis.addEventListener('keydown', listen, { capture: true })
}

async function readAgain(queries: QueryClient): Promise<void> {
  // A late refusal of the former session says nothing about the present one.
  await queries.cancelQueries()
  await queries.invalidateQueries()
}
