import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize } from '../access/authorize.ts'
import { OrgParams } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import { revealsSecrets } from './reveal.ts'
import { findSetting } from './store-setting.ts'
import { updateSetting } from './update-setting.ts'
import { SettingBody, SettingReply, presentSetting } from './wire-setting.ts'

/** Settings of an organization. Source: contract, Orgs Setting. */
export function orgSettingRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/orgs/:org_id/setting',
      {
        schema: {
          operationId: 'getOrgSettings',
          tags: ['Orgs Setting'],
          params: OrgParams,
          response: { 200: SettingReply },
        },
      },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const setting = await findSetting(ctx.db, scope)
        return reply.send(presentSetting({ orgId: scope.orgId, setting }, await revealsSecrets(ctx, caller, scope)))
      },
    )

    http.put(
      '/orgs/:org_id/setting',
      {
        schema: {
          operationId: 'updateOrgSettings',
          tags: ['Orgs Setting'],
          params: OrgParams,
          body: SettingBody,
          response: { 200: SettingReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        const setting = await updateSetting(ctx, scope, body)
        return reply.send(presentSetting({ orgId: scope.orgId, setting }, await revealsSecrets(ctx, caller, scope)))
      },
    )
  }
}
