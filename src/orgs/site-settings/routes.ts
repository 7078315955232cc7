import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Caller, authorizeSite, may } from '../../access/authorize.ts'
import type { SiteScope } from '../../access/scope.ts'
import { SiteParams } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { revealsSecrets } from '../reveal.ts'
import { omitSecrets } from '../secrets.ts'
import { deriveSetting } from '../setting.ts'
import { findSetting } from '../store-setting.ts'
import { findSiteSetting } from './store.ts'
import { updateSiteSetting } from './update-site-setting.ts'
import { SiteSettingBody, SiteSettingReply, presentSiteSetting } from './wire.ts'

const tags = ['Sites Setting']
const path = '/sites/:site_id/setting'
const response = { 200: SiteSettingReply }

/** Settings of a site, its own and those that hold for it. Source: contract, Sites Setting. */
export function siteSettingRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  async function presentOwn(caller: Caller, scope: SiteScope) {
    const setting = await findSiteSetting(ctx.db, scope)
    const doc = setting?.doc ?? {}
    const shown = (await revealsSecrets(ctx, caller, scope)) ? doc : omitSecrets(doc)
    return presentSiteSetting({ ...scope, setting, doc: shown })
  }

  return async (http) => {
    http.get(
      path,
      { schema: { operationId: 'getSiteSetting', tags, params: SiteParams, response } },
      async ({ caller, params }) =>
        presentOwn(caller, await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })),
    )

    http.put(
      path,
      { schema: { operationId: 'updateSiteSettings', tags, params: SiteParams, body: SiteSettingBody, response } },
      async ({ caller, params, body }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        await updateSiteSetting(ctx, scope, body)
        return presentOwn(caller, scope)
      },
    )

    http.get(
      `${path}/derived`,
      { schema: { operationId: 'getSiteSettingDerived', tags, params: SiteParams, response } },
      async ({ caller, params }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        const setting = await findSiteSetting(ctx.db, scope)
        const ofOrg = (await findSetting(ctx.db, scope))?.doc ?? {}
        const reveals = await revealsSecrets(ctx, caller, scope)
        // Who may write in the site only is not shown the organization's.
        const { siteId: _, ...orgScope } = scope
        const doc = deriveSetting(
          reveals && may(caller, orgScope, 'write') ? ofOrg : omitSecrets(ofOrg),
          reveals ? (setting?.doc ?? {}) : omitSecrets(setting?.doc ?? {}),
        )
        return presentSiteSetting({ ...scope, setting, doc })
      },
    )
  }
}
