import { type Caller, may } from '../../access/authorize.ts'
import type { SiteScope } from '../../access/scope.ts'
import { site } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import type { Context } from '../../platform/context.ts'
import type { Document } from '../../platform/json/document.ts'
import { revealTo, revealsSecrets } from '../secrets/reveal.ts'
import { omitSecrets, presentSecrets } from '../secrets/secrets.ts'
import { deriveSetting } from '../org-settings/setting.ts'
import { findSetting } from '../org-settings/store.ts'
import { findSiteSetting } from './store.ts'
import { updateSiteSetting } from './update-site-setting.ts'
import { SiteSettingBody, SiteSettingReply, presentSiteSetting } from './wire.ts'

const common = { tag: 'Sites Setting' as const, reply: SiteSettingReply }

/** Settings of a site: its own, and the effective ones. Source: contract, Sites Setting. */
export const siteSettingOperations: Operation[] = [
  operation({
    ...common,
    id: 'getSiteSetting',
    summary: 'Get the settings of a site',
    method: 'GET',
    at: site('/setting', { needs: 'read' }),
    run: (ctx, { scope, caller }) => presentOwn(ctx, caller, scope),
  }),
  operation({
    ...common,
    id: 'updateSiteSettings',
    summary: 'Update the settings of a site',
    method: 'PUT',
    at: site('/setting', { needs: 'write' }),
    body: SiteSettingBody,
    locksOnlyItsRecord: true,
    checksOnlyChanges: true,
    run: async (ctx, { scope, caller, body }) => {
      await updateSiteSetting(ctx, scope, body)
      return presentOwn(ctx, caller, scope, body)
    },
  }),
  operation({
    ...common,
    id: 'getSiteSettingDerived',
    summary: 'Get the settings that apply in a site, with those of the organization',
    method: 'GET',
    at: site('/setting/derived', { needs: 'read' }),
    run: async (ctx, { scope, caller }) => {
      const setting = await findSiteSetting(ctx.db, scope)
      const ofOrg = (await findSetting(ctx.db, scope))?.doc ?? {}
      const reveals = await revealsSecrets(ctx, caller, scope)
      // A caller who may write only in this site does not see the organization's secrets.
      const doc = deriveSetting(
        reveals && may(caller, { orgId: scope.orgId }, 'write') ? ofOrg : omitSecrets(ofOrg),
        reveals ? (setting?.doc ?? {}) : omitSecrets(setting?.doc ?? {}),
      )
      return presentSiteSetting({ ...scope, setting, doc })
    },
  }),
].flat()

async function presentOwn(ctx: Context, caller: Caller, scope: SiteScope, written: Document = {}) {
  const setting = await findSiteSetting(ctx.db, scope)
  const doc = presentSecrets(setting?.doc ?? {}, await revealTo(ctx, caller, scope, written))
  return presentSiteSetting({ ...scope, setting, doc })
}
