import type { HeldLaneKey, LaneChange, LaneResult } from '../lanes/store.ts'
import type { SpareCount } from '../lanes/spare-count.ts'

/** How a batch of results changes the number of messages that the row of a lane counts. */
export interface CountPlan extends HeldLaneKey {
  /** True if the row goes on counting the messages that the batch deletes. */
  readonly keeps: boolean
  /** What is subtracted from the row in addition to the deleted messages, unless it has been counted anew since this epoch. */
  readonly spare: number
  /** The same of the lease before it, which was lost, with its epoch. */
  readonly formerSpare: number
  readonly formerEpoch: string
  /** The number of messages that the batch is to delete. */
  readonly messages: number
  readonly count: SpareCount
  readonly formerCount: SpareCount | null
}

/** The facts about a result that concern the count of its lane. */
export interface CountedResult {
  readonly lane: HeldLaneKey
  readonly spare: SpareCount
  /** True if the row must count the messages exactly from then on. */
  readonly correctsRow: boolean
  /** True if the result deletes a message of the lane. */
  readonly deletes: boolean
}

/**
 * Plans the counts of the lanes, and takes from memory what is to be subtracted. Of several lost leases beside the next one of
 * the same lane, only the last one is considered: otherwise the row counts too much, until the lane is counted anew.
 */
export function planCounts(results: readonly CountedResult[]): CountPlan[] {
  const ofLanes = Map.groupBy(results, ({ lane }) => lane.webhookId)
  return [...ofLanes.values()].flatMap((all) => {
    const [newest, former] = newestOf(all)
    if (newest === undefined) return []
    const { orgId, webhookId, epoch } = newest.lane
    const messages = all.filter(({ deletes }) => deletes).length
    const isCorrected = all.some(({ correctsRow }) => correctsRow)
    const keeps = !isCorrected && former === undefined && newest.spare.fits(messages)
    const spare = keeps ? 0 : newest.spare.take(Infinity)
    const formerSpare = former?.spare.take(Infinity) ?? 0
    const ofFormer = { formerSpare, formerEpoch: former?.lane.epoch ?? epoch, formerCount: former?.spare ?? null }
    return [{ orgId, webhookId, epoch, keeps, spare, messages, count: newest.spare, ...ofFormer }]
  })
}

/** Returns a result of each lease of a lane, the newest lease first. */
function newestOf(results: readonly CountedResult[]): CountedResult[] {
  const ofLeases = new Map(results.map((result) => [result.spare, result]))
  return [...ofLeases.values()].toSorted((a, b) => Number(BigInt(b.lane.epoch) - BigInt(a.lane.epoch)))
}

/**
 * Must follow when a batch is written.
 * @param kept How many deleted messages a row still counts, by webhook, if it is not the number of the plan.
 */
export function keepCounts(plans: readonly CountPlan[], kept: ReadonlyMap<string, number>): void {
  for (const { keeps, webhookId, messages, count } of plans) if (keeps) count.add(kept.get(webhookId) ?? messages)
}

/** Must follow when nothing of a batch is written. */
export function returnSpare(plans: readonly CountPlan[]): void {
  for (const { spare, count, formerSpare, formerCount } of plans) {
    count.add(spare)
    formerCount?.add(formerSpare)
  }
}

interface Deletions {
  /** Deleted messages, less those that were added. */
  readonly deleted: readonly LaneChange[]
  /** When the first added message of a webhook is due. */
  readonly addedFrom: ReadonlyMap<string, Date>
  readonly isHeld: (lane: HeldLaneKey) => boolean
  /** True if the row has been counted anew since the epoch of the lane, so that the holder knows nothing about its count. */
  readonly isRecounted: (lane: HeldLaneKey) => boolean
}

/** Returns what to subtract from the rows of locked lanes, and how many deleted messages each of them still counts. */
export function laneResults(
  plans: readonly CountPlan[],
  { deleted, addedFrom, isHeld, isRecounted }: Deletions,
): { readonly results: LaneResult[]; readonly kept: ReadonlyMap<string, number> } {
  const planOf = new Map(plans.map((plan) => [plan.webhookId, plan]))
  const changeOf = new Map(deleted.map((lane) => [lane.webhookId, lane.messages]))
  const kept = new Map<string, number>()
  const results: LaneResult[] = []
  for (const { orgId, webhookId } of new Map([...plans, ...deleted].map((lane) => [lane.webhookId, lane])).values()) {
    const [plan, from] = [planOf.get(webhookId), addedFrom.get(webhookId) ?? null]
    const isKept = plan !== undefined && isHeld(plan) && plan.keeps && from === null
    const messages = changeOf.get(webhookId) ?? 0
    kept.set(webhookId, isKept ? messages : 0)
    const sum = messages + (plan === undefined ? 0 : spareOf(plan, isRecounted))
    if (!isKept && (sum !== 0 || from !== null)) results.push({ orgId, webhookId, messages: sum, addedFrom: from })
  }
  return { results, kept }
}

/** Returns what to subtract in addition to the deleted messages. */
function spareOf(plan: CountPlan, isRecounted: Deletions['isRecounted']): number {
  const { orgId, webhookId, spare, formerSpare, formerEpoch: epoch } = plan
  return (isRecounted(plan) ? 0 : spare) + (isRecounted({ orgId, webhookId, epoch }) ? 0 : formerSpare)
}
