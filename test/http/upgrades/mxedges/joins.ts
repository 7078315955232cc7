import { json } from '../../../../src/platform/database/db.ts'
import { includeAllMxedges } from '../../../../src/upgrades/mxedges/include-new.worker.ts'
import { uploadPackage } from '../../../edge/upgrades/packages.ts'
import { playUpgrades, running } from '../../../edge/upgrades/upgrade-world.ts'
import type { Answer, TestOrg, TestServer } from '../../../support/servers/server.ts'

/** What tests of upgrades with include_new do in organizations of their own. */
export interface Joins {
  /** Adds an organization with a package of version 2.0.0. */
  readonly addOrg: () => Promise<TestOrg>
  /** Calls an operation of the upgrades of the organization. */
  readonly inOrg: (org: TestOrg, method: 'GET' | 'POST', path: string, body?: object) => Promise<Answer>
  readonly play: (orgId: string) => Promise<void>
  /** Looks for appliances that join the upgrade, in two workers. */
  readonly look: (id: string, maxAppliances?: number) => Promise<void>
  /** Makes the version of the package what the appliance has reported last. */
  readonly reports: (id: string, version: string) => Promise<unknown>
}

export function joinsIn(world: () => TestServer): Joins {
  return {
    async addOrg() {
      const org = await world().addOrg()
      await uploadPackage({ ...world(), org }, '2.0.0', { query: 'package=tunterm' })
      return org
    },
    inOrg: (org, method, path, body) =>
      world().call(method, `/orgs/${org.orgId}/mxedges/upgrade${path}`, { as: org, ...(body && { body }) }),
    play: (orgId) => playUpgrades(world(), [], orgId),
    async look(id, maxAppliances) {
      const { ctx } = world()
      await ctx.db.updateTable('mxedgeUpgrade').set({ includeDueMs: 0 }).where('id', '=', id).execute()
      await Promise.all([includeAllMxedges(ctx, maxAppliances), includeAllMxedges(ctx, maxAppliances)])
    },
    reports: (id, version) =>
      world()
        .ctx.db.updateTable('mxedgeSession')
        .set({ report: json(running(version)) })
        .where('mxedgeId', '=', id)
        .execute(),
  }
}
