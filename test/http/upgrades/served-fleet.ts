import { defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../../src/rollout/worker.ts'
import {
  type Fleet,
  type Replies,
  type SeededOrg,
  type SiteSeed,
  createFleet,
  seedOrg,
} from '../../support/fleets/fleet.ts'
import type { TestOrg, TestServer } from '../../support/servers/server.ts'
import type { TestClock } from '../../support/test-clock.ts'

interface ServedFleet {
  readonly admin: TestOrg
  readonly org: SeededOrg
  readonly fleet: Fleet
}

/** Adds an organization to a server, with sites whose devices have not connected yet. */
export async function addFleet(server: TestServer, seeds: readonly SiteSeed[]): Promise<ServedFleet> {
  const admin = await server.addOrg()
  const org = await seedOrg(server.ctx, seeds, admin.orgId)
  return { admin, org, fleet: createFleet(server.ctx, [org]) }
}

/** Does one round of all upgrades. A device that has booted counts as healthy at once. */
export async function advanceAll({ ctx }: TestServer): Promise<void> {
  await advanceRollouts(ctx, { ...defaultRolloutOptions, soakMs: 0 }, new AbortController().signal)
}

interface Played {
  readonly server: TestServer
  readonly fleet: Fleet
  readonly clock: TestClock
}

/** Does rounds until no device gets a further command. Every device stages what it is commanded to; `reboot` answers the rest. */
export async function playAll({ server, fleet, clock }: Played, reboot: Replies): Promise<void> {
  const reply: Replies = (...sent) => (sent[2].kind === 'stage' ? 'does' : reboot(...sent))
  for (let quiet = 0; quiet < 3;) {
    await advanceAll(server)
    quiet = (await fleet.answer(reply)) === 0 ? quiet + 1 : 0
    clock.advance(1000)
  }
}
