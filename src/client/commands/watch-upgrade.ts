import { setTimeout as delay } from 'node:timers/promises'
import { type Api, type JsonObject, objectOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { bar, reasonText } from '../output.ts'
import type { Session } from '../session.ts'
import { followStream } from '../stream.ts'
import { type FoundUpgrade, type UpgradeKind, upgradeKinds } from './upgrade-kinds.ts'
import {
  type Progress,
  countOnlyWaiting,
  liveProgressOf,
  offlineReasonOf,
  progressOf,
  stopReasonOf,
} from './upgrade-progress.ts'

/** How often an upgrade is read while there is no stream. */
const POLL_MS = 2000

type WatchedUpgrade = Pick<FoundUpgrade, 'kind' | 'id' | 'channel' | 'path'>

/**
 * Shows the progress until the upgrade has ended. It listens to the live stream, and reads the upgrade itself while no
 * stream gets through.
 * @throws CommandError upgradeFailed if not every device was upgraded.
 */
export async function watchUpgrade(session: Session, api: Api, watched: WatchedUpgrade): Promise<void> {
  const { kind, channel, path } = watched
  const ended = Promise.withResolvers<JsonObject>()
  const over = new AbortController()
  const signal = AbortSignal.any([session.interrupted, over.signal])
  let isLive = false
  let [hasRead, isLost] = [false, false]
  let toldReason: string | null = null
  let latest: Progress | null = null

  /** Only the report of devices and routers says how many of them are offline. */
  async function findHoldReason(progress: Progress): Promise<string | null> {
    const waiting = kind === 'mxedge' ? 0 : countOnlyWaiting(progress)
    if (waiting === 0) return progress.holdReason
    return offlineReasonOf(objectOf(await api.get(`${path}/report?devices=false`)), waiting, upgradeKinds[kind].unit)
  }

  async function show(progress: Progress): Promise<void> {
    latest = progress
    const holdReason = await findHoldReason(progress)
    // Meanwhile the upgrade may have gone on.
    if (latest !== progress) return
    // It has a line of its own: a terminal cuts the line of the progress.
    if (holdReason !== null && holdReason !== toldReason) session.output.tell(`waiting: ${reasonText(holdReason)}`)
    toldReason = holdReason
    session.output.progress(lineOf(progress))
  }

  async function read(): Promise<void> {
    const upgrade = objectOf(await api.get(path))
    // Another read may have shown the end meanwhile.
    if (over.signal.aborted) return
    const progress = progressOf(kind, upgrade)
    hasRead = true
    await show(progress)
    if (!progress.hasEnded) return
    ended.resolve(upgrade)
    over.abort()
  }

  /** A server that restarts answers again soon; one that has never answered is another matter. */
  async function readAgain(): Promise<void> {
    try {
      await read()
      isLost = false
    } catch (error) {
      if (!hasRead || !(error instanceof CommandError) || error.outcome !== 'unavailable') throw error
      if (!isLost) session.output.tell(`connection lost: ${error.message}; retrying`)
      isLost = true
    }
  }

  const following = followStream(
    api,
    {
      channels: [channel],
      async onData(data) {
        const progress = liveProgressOf(watched, data)
        if (progress === null || over.signal.aborted) return
        await show(progress)
        if (progress.hasEnded) await read()
      },
      async onGap() {
        isLive = true
        await read()
      },
      onLost: () => (isLive = false),
    },
    signal,
    // Reading reports the same refusal.
  ).catch(() => (isLive = false))

  try {
    while (!signal.aborted) {
      if (!isLive) await readAgain()
      await delay(POLL_MS, undefined, { signal }).catch(() => {})
    }
    if (over.signal.aborted) report(session, kind, await ended.promise)
  } finally {
    over.abort()
    await following
  }
}

function report({ output }: Session, kind: UpgradeKind, upgrade: JsonObject): void {
  const { total, counts } = progressOf(kind, upgrade)
  output.show({ id: upgrade['id'] ?? null, total, ...counts }, () => {
    // Appliances and routers are also skipped for other reasons, which the record has.
    const reason = kind === 'device' ? ': they run the version already' : ''
    const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} skipped${reason}`
    return `${counts.upgraded} of ${total} upgraded${skipped}`
  })
  const failed = counts.failed + counts.cancelled
  if (failed === 0) return
  const stopReason = stopReasonOf(upgrade)
  const why = stopReason === null ? '' : `: ${reasonText(stopReason)}`
  throw new CommandError('upgradeFailed', `${failed} of ${total} ${upgradeKinds[kind].what} were not upgraded${why}`)
}

function lineOf({ total, counts }: Pick<Progress, 'total' | 'counts'>): string {
  const ended = counts.upgraded + counts.failed + counts.skipped + counts.cancelled
  const states = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state.replaceAll('_', ' ')}`)
  return `${bar(total === 0 ? 1 : ended / total)}  ${states.join(', ')}`
}
