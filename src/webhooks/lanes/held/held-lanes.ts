import type { Context } from '../../../platform/context.ts'
import type { Admission } from '../../delivery/admission/admission.ts'
import { createConfirmation } from './confirm-held-lanes.ts'
import type { HoldOptions } from './create-lane-state.ts'
import { type HeldLane, holdLane } from './held-lane.ts'
import { createKeptWidths } from './kept-widths.ts'
import type { ClaimedLane } from '../../delivery/store.ts'
import type { DueMessage } from '../../delivery/store-due.ts'
import type { HeldLaneKey, LaneKey } from '../store.ts'
import type { DirectLane, LaneLoan } from '../../routing/store-routed.ts'
import type { NewMessage } from '../../store.ts'
import type { Acceptance } from './waiting-messages.ts'

/** The lanes that this process has leased, by the ids of their webhooks. */
export interface HeldLanes {
  /** Must be called before each claim: it finds everything that was routed until then. */
  beginClaim(): void
  /** Sends the messages of a lane that has just been leased. */
  hold(lane: ClaimedLane): void
  /** Sends new messages of lanes: some have just been leased for them, others are already open. */
  take(lanes: readonly DirectLane[], messages: readonly NewMessage[]): void
  /** Does the same as DirectLease.lend(). endLoans() must follow. */
  lend(lane: LaneKey, wanted: number): LaneLoan | null
  /** @param lanes What was used of the loans; null if it is unknown. */
  endLoans(lanes: readonly DirectLane[] | null): void
  /** New messages have to be claimed: their lanes send none that is routed later before them. */
  miss(messages: readonly LaneKey[]): void
  /** Does the same as DirectDelivery.accept(). */
  accept(lane: LaneKey, message: DueMessage, acceptance: Acceptance): boolean
  /** Does the same as DirectDelivery.roomForBacklog(). */
  roomForBacklog(webhookId: string): number | null
  /** Does the same as DirectDelivery.awaitRoom(). */
  awaitRoom(webhookId: string, events: number, onRoom: () => void): void
  ids(): string[]
  keys(): HeldLaneKey[]
  /** Makes the lanes of these webhooks start no further message. */
  close(ids: Iterable<string>): void
  /** The same for webhooks that may have changed. */
  closeChanged(ids: Iterable<string>): void
  /** @returns True if messages of a lane are in flight or wait. */
  age(): boolean
  /**
   * Holds lanes longer whose webhooks have not changed, and closes the others. Must be called often; does nothing until
   * the former call has ended.
   */
  confirm(): Promise<void>
  /** Resolves when all lanes have been released. */
  ended(): Promise<unknown>
}

interface HeldLanesOptions extends Omit<HoldOptions, 'widths'> {
  readonly admission: Admission
  /** Called for each lane. */
  readonly onHold: () => void
}

export function createHeldLanes(ctx: Context, { admission, onHold, ...others }: HeldLanesOptions): HeldLanes {
  const options = { ...others, widths: createKeptWidths() }
  const lanes = new Map<string, HeldLane>()
  const running = new Set<Promise<void>>()
  /** Webhooks whose messages were routed since the last claim began, so that it may lack them. */
  const missed = new Set<string>()
  const confirm = createConfirmation(ctx, options.laneMs)
  const loans = new Map<HeldLane, number>()

  async function run(lane: ClaimedLane): Promise<void> {
    const { orgId, webhookId, messages } = lane
    const bytes = messages.reduce((sum, { body }) => sum + body.length, 0)
    let held: HeldLane | null = null
    const turn = admission.open({ orgId, webhookId, bytes, retry: () => held?.startWaiting() })
    let isLeft = true
    try {
      held = holdLane(ctx, options, { lane, turn })
      // The former one was released by a change of its webhook of which this process does not know yet.
      lanes.get(webhookId)?.closeChanged()
      lanes.set(webhookId, held)
      isLeft = await held.ended
    } catch (error) {
      ctx.log.error({ err: error, orgId, webhookId }, 'lane failed, it is taken up again when its lease ends')
    } finally {
      turn.end()
      // The lane may have been leased again as soon as its release was committed.
      if (lanes.get(webhookId) === held) lanes.delete(webhookId)
    }
    if (!isLeft) return
    // Those that wait for a slot come before the claim, which may find this lane again.
    for (const other of lanes.values()) other.startWaiting()
    ctx.wakes.wake('deliveries')
  }

  function hold(lane: ClaimedLane): void {
    const ended = run(missed.delete(lane.webhookId) ? { ...lane, hasAll: false } : lane)
    running.add(ended)
    void ended.then(() => running.delete(ended))
    onHold()
  }

  return {
    beginClaim: () => missed.clear(),
    hold,
    take(direct, messages) {
      const ofWebhooks = Map.groupBy(messages, ({ webhookId }) => webhookId)
      for (const { webhook, used: _, ...lane } of direct) {
        const added = (ofWebhooks.get(lane.webhookId) ?? []).map(({ id, topic, body, orderKey }) => ({
          id,
          topic,
          body,
          orderKey,
          attempt: 0,
          pauses: 0,
          payload: null,
        }))
        const held = lanes.get(lane.webhookId)
        if (webhook !== null) hold({ ...lane, webhook, messages: added, hasAll: true, last: null })
        else if (held?.key.epoch === lane.epoch) held.push(added)
        else {
          missed.add(lane.webhookId)
          ctx.wakes.wake('deliveries')
        }
      }
    },
    lend({ webhookId }, wanted) {
      const held = lanes.get(webhookId)
      const loan = held?.lend(wanted) ?? null
      if (held !== undefined && loan !== null) loans.set(held, loan.messages)
      return loan
    },
    endLoans(direct) {
      const used = new Map(direct?.map((lane) => [lane.webhookId, lane.used]))
      for (const [held, lent] of loans) held.endLoan(direct === null ? 0 : lent - (used.get(held.key.webhookId) ?? 0))
      loans.clear()
    },
    miss(messages) {
      for (const { webhookId } of messages) {
        const held = lanes.get(webhookId)
        if (held === undefined) missed.add(webhookId)
        else held.close()
      }
    },
    accept: ({ webhookId }, message, acceptance) => lanes.get(webhookId)?.accept(message, acceptance) ?? false,
    roomForBacklog: (webhookId) => lanes.get(webhookId)?.roomForBacklog() ?? null,
    awaitRoom: (webhookId, events, onRoom) => lanes.get(webhookId)?.awaitRoom(events, onRoom),
    ids: () => [...lanes.keys()],
    keys: () => [...lanes.values()].map(({ key }) => key),
    close(ids) {
      for (const id of ids) lanes.get(id)?.close()
    },
    closeChanged(ids) {
      for (const id of ids) lanes.get(id)?.closeChanged()
    },
    age() {
      let areBusy = false
      for (const lane of lanes.values()) areBusy = lane.age(lanes.size) || areBusy
      return areBusy
    },
    confirm: () => confirm([...lanes.values()]),
    ended: () => Promise.all(running),
  }
}
