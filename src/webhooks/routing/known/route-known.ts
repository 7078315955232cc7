import type { Context } from '../../../platform/context.ts'
import { FIRST_EVENTS, decideRoundSize } from '../planning/decide-round-size.ts'
import { earliest } from '../../../platform/extremes.ts'
import { type Knowledge, type NextEvents, type Routed, isAwaited, passOn } from './knowledge.ts'
import { type Round, routeFound } from '../route-round.ts'
import { type FoundQueues, findQueuesOf } from '../store.ts'

const noQueues: FoundQueues = { queues: [], waiting: [], more: [] }

/** Routes known events: without the backlogs, if these have had at least half of the time, or with them. */
export async function routeKnown(ctx: Context, knowledge: Knowledge, round: Round): Promise<Routed> {
  const { known, sendNow, eventsPerRound: events } = knowledge
  const roomOf = sendNow.backlog?.roomOf
  const beganMs = performance.now()
  const short = knowledge.shortLeftMs > 0 ? known.shortIdsOfRound(events, roomOf) : null
  // A short round may have the same events as what has been read.
  const read = short === null ? knowledge.next : null
  knowledge.next = null
  const ids = short ?? read?.ids ?? known.idsOfRound({ limit: events, turn: knowledge.turn, roomOf })
  const isLimited = ids.length < known.size()
  const readAt = read?.readAt ?? round.now
  const found = ids.length === 0 ? noQueues : await (read?.found ?? findQueuesOf(ctx.queueDb, { ids, now: readAt }))
  const { left, passedIds } = passOn(knowledge, sendNow.excludeSending(found.waiting))
  const ahead = isLimited && short === null ? readAhead(ctx, knowledge, round, ids) : null
  const result = await routeFound(ctx, round, left)
  const waiting = new Set(found.waiting.flatMap(({ events }) => events.map(({ id }) => id)))
  for (const id of [...result.gone, ...passedIds]) waiting.delete(id)
  const allDone = ids.filter((id) => !waiting.has(id))
  const passed = new Set(passedIds)
  const doneIds = allDone.filter((id) => !passed.has(id))
  const unripe = found.queues.filter(({ ripeAt }) => ripeAt > readAt)
  knowledge.searchAt = earliest([knowledge.searchAt, ...unripe.map(({ ripeAt }) => ripeAt)])
  // From now on only a search finds the events of these queues, and their ids may be older than those of the last one.
  if (unripe.length > 0) knowledge.fromId = ids.reduce((lowest, id) => (id < lowest ? id : lowest), knowledge.fromId)
  const tookMs = performance.now() - beganMs
  if (short === null) {
    knowledge.turn += 1
    knowledge.shortLeftMs = tookMs
    const past = { events, tookMs, searchMs: 0, isAwaited: isAwaited(knowledge) }
    knowledge.eventsPerRound = isLimited ? decideRoundSize(past) : FIRST_EVENTS
  } else knowledge.shortLeftMs -= tookMs
  // What is left of this round comes before it.
  if (allDone.length === ids.length) knowledge.next = ahead
  if (short !== null || (isLimited && allDone.length > 0) || !result.complete) return { result, doneIds, next: true }
  return { result, doneIds, next: earliest([knowledge.searchAt, result.againAt]) }
}

/** Begins to read the events of the next round while this one is written, unless others wait for its end. */
function readAhead(ctx: Context, knowledge: Knowledge, round: Round, ids: readonly string[]): NextEvents | null {
  if (isAwaited(knowledge)) return null
  const { known, eventsPerRound: limit } = knowledge
  const nextIds = known.idsOfRound({
    limit,
    turn: knowledge.turn + 1,
    after: ids,
    roomOf: knowledge.sendNow.backlog?.roomOf,
  })
  if (nextIds.length === 0) return null
  const found = findQueuesOf(ctx.queueDb, { ids: nextIds, now: round.now })
  // The round that uses it reports the error, if there is such a round.
  found.catch(() => {})
  return { ids: nextIds, readAt: round.now, found }
}
