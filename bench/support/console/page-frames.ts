import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

export interface Frames {
  readonly frames_per_s: number
  readonly longest_frame_ms: number
  /** The processor time of the longest task of the page's main thread. */
  readonly longest_task_cpu_ms: number
  readonly longest_task_ms: number
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** Microseconds. */
  readonly dur?: number
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/** Adds the functions for measurements to a page. */
export async function prepareToMeasure(page: Page): Promise<void> {
  await page.addInitScript({ path: fileURLToPath(new URL('in-page.js', import.meta.url)) })
}

/**
 * Measures the frames of a page while `work` runs. Other work of the machine delays frames but does not change the
 * processor time of tasks.
 */
export async function measureFrames(page: Page, work: () => Promise<unknown>): Promise<Frames> {
  const browser = page.context().browser()
  if (browser === null) throw new Error('the page has no browser')
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] })
  await page.evaluate('bench.startFrames()')
  await work()
  const times = await page.evaluate<readonly number[]>('bench.stopFrames()')
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString('utf8')) as {
    readonly traceEvents: readonly TraceEvent[]
  }
  const gaps = times.slice(1).map((time, place) => time - (times[place] ?? time))
  const whole = (times.at(-1) ?? 0) - (times[0] ?? 0)
  const tasks = tasksOfPages(traceEvents)
  return {
    frames_per_s: Math.round((gaps.length / whole) * 1000 * 10) / 10,
    longest_frame_ms: Math.round(Math.max(...gaps)),
    longest_task_cpu_ms: longestMs(tasks.map(({ tdur = 0 }) => tdur)),
    longest_task_ms: longestMs(tasks.map(({ dur = 0 }) => dur)),
  }
}

function longestMs(times: readonly number[]): number {
  return Math.round(times.reduce((longest, time) => Math.max(longest, time), 0) / 1000)
}

function tasksOfPages(events: readonly TraceEvent[]): readonly TraceEvent[] {
  const threads = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  return events.filter(({ name, ph, pid, tid }) => /RunTask/.test(name) && ph === 'X' && threads.has(`${pid} ${tid}`))
}
