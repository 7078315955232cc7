import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import { type AnswerOptions, gatherAnswers } from '../../platform/queues/gather-answers.ts'
import { lockedPauses } from '../../platform/queues/locked-pauses.ts'
import { pause } from '../../platform/time/pause.ts'
import { batchOf } from '../limits.ts'
import type { OpenResult } from './link-side.ts'

/** What was recorded of the openings of a batch. Those in neither are refused. */
export interface RecordedOpenings {
  readonly opened: readonly { readonly deviceId: string; readonly epoch: string }[]
  /** The ids of devices that another transaction has locked. Nothing is recorded of them. */
  readonly lockedIds: ReadonlySet<string>
}

export interface OpeningOptions<T> extends Pick<AnswerOptions<string, T, unknown>, 'name' | 'spacing'> {
  readonly batchSize: number
  readonly idOf: (opening: T) => string
  /**
   * Opens sessions, in one transaction.
   * @param openings Distinct devices.
   * @param isRepeated True if one of them was locked before.
   */
  readonly record: (openings: readonly T[], isRepeated: boolean) => Promise<RecordedOpenings>
}

/** Records concurrent connections together, and those of locked devices with a later batch. */
export interface Openings<T> {
  open(opening: T): Promise<OpenResult>
  /** See SessionRows.stop(). */
  stop(): Promise<void>
}

export function gatherOpenings<T extends object>(ctx: Context, options: OpeningOptions<T>): Openings<T> {
  const { idOf, record, batchSize, ...rest } = options
  /** The openings whose device another transaction was changing. */
  const repeated = new WeakSet<T>()
  const connects = gatherAnswers<string, T, { readonly epoch: string } | 'locked' | null>({
    ...rest,
    log: ctx.log,
    batch: batchOf(batchSize),
    keyOf: idOf,
    async answer(openings) {
      const isRepeated = openings.some((opening) => repeated.has(opening))
      const { opened, lockedIds } = await record(openings, isRepeated)
      return new Map<string, { readonly epoch: string } | 'locked' | null>([
        ...openings.map((opening) => [idOf(opening), null] as const),
        ...Array.from(lockedIds, (id) => [id, 'locked'] as const),
        ...opened.map((session) => [session.deviceId, session] as const),
      ])
    },
  })
  const stopping = new AbortController()
  const open = new Set<Promise<unknown>>()
  /** The latest opening of each device that connects. */
  const latest = new Map<string, T>()

  async function untilRecorded(opening: T): Promise<OpenResult> {
    const deviceId = idOf(opening)
    const nextPauseMs = lockedPauses()
    latest.set(deviceId, opening)
    try {
      for (;;) {
        const session = await connects.add(opening)
        if (session === null) return { kind: 'refused' }
        if (session !== 'locked') return { kind: 'opened', epoch: session.epoch }
        repeated.add(opening)
        await pause(nextPauseMs(), stopping.signal)
        if (latest.get(deviceId) !== opening) return { kind: 'replaced' }
        if (stopping.signal.aborted) throw new AppError('unavailable', 'The service is stopping')
      }
    } finally {
      if (latest.get(deviceId) === opening) latest.delete(deviceId)
    }
  }

  return {
    open(opening) {
      const recorded = untilRecorded(opening)
      open.add(recorded)
      return recorded.finally(() => open.delete(recorded))
    },
    async stop() {
      stopping.abort()
      await Promise.allSettled(open)
    },
  }
}
