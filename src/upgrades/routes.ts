import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize } from '../access/authorize.ts'
import { pageQuery, parsePage, setPageHeaders } from '../http/lists.ts'
import { Empty, OrgParams } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import { cancelOrgUpgrade } from './cancel-org-upgrade.ts'
import { createOrgUpgrade } from './create-org-upgrade.ts'
import { pauseOrgUpgrade } from './pause-org-upgrade.ts'
import { resumeOrgUpgrade } from './resume-org-upgrade.ts'
import { getOrgUpgrade, listOrgUpgrades } from './store.ts'
import { parseOrgUpgrade } from './wire-parse.ts'
import {
  OrgUpgradeBody,
  OrgUpgradeList,
  OrgUpgradeParams,
  OrgUpgradeQuery,
  OrgUpgradeReply,
  presentOrgUpgrade,
  presentOrgUpgradeItem,
} from './wire.ts'

const tags = ['Upgrades']
const changes = { cancel: cancelOrgUpgrade, pause: pauseOrgUpgrade, resume: resumeOrgUpgrade }

/** Device upgrades of an organization. Source: spec, "Devices", operation 12; contract, Utilities Upgrade. */
export function upgradeRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      '/orgs/:org_id/devices/upgrade',
      {
        schema: {
          operationId: 'upgradeOrgDevices',
          tags,
          params: OrgParams,
          querystring: OrgUpgradeQuery,
          body: OrgUpgradeBody,
          response: { 200: OrgUpgradeReply },
        },
      },
      async ({ caller, params, query, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        return reply.send(presentOrgUpgrade(await createOrgUpgrade(ctx, scope, parseOrgUpgrade(body, query))))
      },
    )

    http.get(
      '/orgs/:org_id/devices/upgrade',
      {
        schema: {
          operationId: 'listOrgDeviceUpgrades',
          tags,
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: OrgUpgradeList },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        const page = parsePage(query)
        const found = await listOrgUpgrades(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return reply.send(found.rows.map(presentOrgUpgradeItem))
      },
    )

    http.get(
      '/orgs/:org_id/devices/upgrade/:upgrade_id',
      {
        schema: {
          operationId: 'getOrgDeviceUpgrade',
          tags,
          params: OrgUpgradeParams,
          response: { 200: OrgUpgradeReply },
        },
      },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        return reply.send(presentOrgUpgrade(await getOrgUpgrade(ctx.db, scope, params.upgrade_id)))
      },
    )

    // Pause and resume are ours: the interface has no way to let a held upgrade go on.
    for (const [name, change] of Object.entries(changes)) {
      http.post(
        `/orgs/:org_id/devices/upgrade/:upgrade_id/${name}`,
        {
          schema: {
            operationId: `${name}OrgDeviceUpgrade`,
            tags,
            params: OrgUpgradeParams,
            response: { 200: Empty },
          },
        },
        async ({ caller, params }, reply) => {
          const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
          await change(ctx, scope, params.upgrade_id)
          return reply.send({})
        },
      )
    }
  }
}
