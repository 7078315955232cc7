import { type LanePace, firstPace } from './decide-lane.ts'

/** Requests in flight at the same time. */
export interface Caps {
  readonly total: number
  readonly perOrg: number
  /** Lanes whose requests take long share this many. */
  readonly slow: number
}

export const defaultCaps: Caps = { total: 256, perOrg: 64, slow: 64 }

export interface AdmissionRequest {
  readonly orgId: string
  readonly webhookId: string
  readonly messages: number
}

export interface Reservation {
  /** Requests that the lane may have in flight; 0 when there is no room. */
  readonly width: number
  /** Frees the room; the pace is kept for the lane's next turn. */
  end(pace: LanePace): void
}

export interface Admission {
  freeSlots(): number
  busyOrgIds(): string[]
  /** Slow lanes, while slow lanes have used up their share. */
  busyWebhookIds(): string[]
  paceOf(webhookId: string): LanePace
  reserve(request: AdmissionRequest): Reservation
}

/** Paces are only a memory of speed: forgetting them costs a slow start. */
const MAX_PACES = 10_000

/** Shares out the requests in flight. A lane keeps what it reserved until its turn ends, so the caps hold at any instant. */
export function createAdmission(caps: Caps): Admission {
  const paces = new Map<string, LanePace>()
  const byOrg = new Map<string, number>()
  let total = 0
  let slow = 0

  const paceOf = (webhookId: string): LanePace => paces.get(webhookId) ?? firstPace

  function take(orgId: string, width: number, isSlow: boolean): void {
    const ofOrg = (byOrg.get(orgId) ?? 0) + width
    if (ofOrg === 0) byOrg.delete(orgId)
    else byOrg.set(orgId, ofOrg)
    total += width
    if (isSlow) slow += width
  }

  return {
    freeSlots: () => caps.total - total,
    busyOrgIds: () => [...byOrg].filter(([, used]) => used >= caps.perOrg).map(([orgId]) => orgId),
    busyWebhookIds: () =>
      slow < caps.slow ? [] : [...paces].filter(([, pace]) => pace.slow).map(([webhookId]) => webhookId),
    paceOf,
    reserve({ orgId, webhookId, messages }) {
      const pace = paceOf(webhookId)
      const room = Math.min(caps.total - total, caps.perOrg - (byOrg.get(orgId) ?? 0))
      const width = Math.min(pace.width, messages, room, pace.slow ? caps.slow - slow : room)
      take(orgId, width, pace.slow)
      return {
        width,
        end(next) {
          take(orgId, -width, pace.slow)
          if (paces.size >= MAX_PACES) paces.clear()
          paces.set(webhookId, next)
        },
      }
    },
  }
}
