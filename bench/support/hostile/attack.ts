import type { EnrolledDevice } from '../devices.ts'

/** Real attackers have their own machines, so these yield the processors of this one to the service and its tenant. */
export const ATTACKERS_NICENESS = 10

/** An account with its own organization and site, signed in. */
export interface HostileTenant {
  readonly orgId: string
  readonly siteId: string
  readonly email: string
  readonly password: string
  /** The headers of its session, for which no number of calls per hour is too many. */
  readonly headers: Readonly<Record<string, string>>
}

/** The attackers' knowledge about the service; it passes between processes as JSON. */
export interface World {
  readonly host: string
  readonly port: number
  readonly ucentralPort: number
  readonly edgePort: number
  /** The well-behaved tenant, whose password the attackers guess. */
  readonly victimEmail: string
  /** A receiver of webhooks that accepts requests and never answers. */
  readonly deafReceiver: string
  /** Names below it are never answered by the name server. */
  readonly silentDomain: string
  /** PEM text. */
  readonly ca: string
  readonly devices: readonly EnrolledDevice[]
  /** One for each attack, by its name. */
  readonly tenants: Readonly<Record<string, HostileTenant>>
}

export interface AttackRun {
  readonly world: World
  readonly tenant: HostileTenant
  /** Aborted when the attack is to end. */
  readonly signal: AbortSignal
  /** Counts an act of the attack by the service's response, such as `200` or `closed`. */
  readonly count: (outcome: string) => void
}

export interface Attack {
  readonly what: string
  /** Creates the objects that the attack needs, once, before its effect is measured. */
  readonly prepare?: (run: AttackRun) => Promise<void>
  /** Attacks until the signal is aborted, then deletes whatever would continue without it. */
  readonly run: (run: AttackRun) => Promise<void>
}

/** The number of occurrences of each outcome, by attack. */
export type AttackReport = Readonly<Record<string, Readonly<Record<string, number>>>>

/** A message to the process of the attackers, which replies to each: to `stop` with an AttackReport, otherwise with {}. */
export interface AttackerCommand {
  readonly kind: 'prepare' | 'start' | 'stop'
  /** Names of attacks; `stop` ends all. */
  readonly names: readonly string[]
}

/** Repeats `act` in each of `count` lanes until the attack is to end. */
export async function inLanes(
  count: number,
  { signal }: AttackRun,
  act: (lane: number, round: number) => Promise<unknown>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async (_, lane) => {
      for (let round = 0; !signal.aborted; round += 1) await act(lane, round)
    }),
  )
}

/** Returns an address of this machine that belongs to a separate network. */
export function networkAddress(number: number): string {
  const last = number % 250
  return `127.${1 + (Math.floor(number / 62_500) % 250)}.${Math.floor(number / 250) % 250}.${1 + last}`
}
