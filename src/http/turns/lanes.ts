import { UNKNOWN_CALLERS, type Demand } from './accounts/account-use.ts'

/** They have separate places: changes may wait for each other, and for names, and uploads for their clients. */
export type Kind = 'read' | 'change' | 'upload'

export interface Requester {
  readonly account?: string | undefined
  readonly network: string
  /** See kindOfRequest(): requests with an equal one are expected to cost the same. */
  readonly requestKind: string
  readonly kind: Kind
  /** The size of its body. */
  readonly bodyBytes: number
}

/** The requests of a kind of one account, or of one network of unknown callers. */
export interface Lane {
  readonly name: string
  readonly kind: Kind
  readonly group: Group
  running: number
  /** In the order of their arrival. */
  readonly waiting: Set<Waiting>
}

export interface Waiting {
  readonly demand: Demand
  readonly begin: () => void
}

/** The lanes of one account, or those of all unknown callers. */
export interface Group {
  readonly account: string
  running: number
  /** Requests whose cost is being measured, also after they have given back their place. */
  measured: number
  /** Nothing begins while the account is heavy. */
  isPaused: boolean
  /** The pause that follows the present one. */
  owedMs: number
  /** Whether its next request waits for light ones to end: not yet, now, or it has done so for long enough. */
  patience: 'unused' | 'waiting' | 'over'
  lanes: number
  /** Requests that wait for their turn, or for others of their account. */
  waiting: number
  /** Lanes in which requests wait, those first that have waited longest since their last turn. */
  readonly crowded: Set<Lane>
}

/** Keeps lanes and groups while they have requests. */
export interface Lanes {
  /** By their accounts. */
  readonly groups: ReadonlyMap<string, Group>
  /** Returns the lane of a caller, a new one if necessary. */
  readonly laneOf: (who: Requester) => Lane
  /** Forgets the lane, and its group, if it has no request. */
  readonly removeIdle: (lane: Lane) => void
  /** Forgets the group if it has no request and waits for nothing. */
  readonly removeIdleGroup: (group: Group) => void
}

export function createLanes(): Lanes {
  const groups = new Map<string, Group>()
  const lanes = new Map<string, Lane>()

  function removeIdle(lane: Lane): void {
    const { name, group, running, waiting } = lane
    // Another lane of this name may have been made since this one was removed.
    if (running === 0 && waiting.size === 0 && lanes.get(name) === lane) {
      lanes.delete(name)
      group.lanes -= 1
    }
    removeIdleGroup(group)
  }

  function removeIdleGroup(group: Group): void {
    const { account, lanes: count, measured, waiting, isPaused, patience } = group
    if (count + measured + waiting > 0 || isPaused || patience === 'waiting') return
    if (groups.get(account) === group) groups.delete(account)
  }

  function laneOf({ account = UNKNOWN_CALLERS, network, kind }: Requester): Lane {
    const name = account === UNKNOWN_CALLERS ? `${kind} ${network}` : `${kind} ${account}`
    const known = lanes.get(name)
    if (known !== undefined) return known
    const group = groups.get(account) ?? newGroup(account)
    groups.set(account, group)
    group.lanes += 1
    const lane: Lane = { name, kind, group, running: 0, waiting: new Set() }
    lanes.set(name, lane)
    return lane
  }

  return { groups, laneOf, removeIdle, removeIdleGroup }
}

function newGroup(account: string): Group {
  return {
    account,
    running: 0,
    measured: 0,
    isPaused: false,
    owedMs: 0,
    patience: 'unused',
    lanes: 0,
    waiting: 0,
    crowded: new Set(),
  }
}
