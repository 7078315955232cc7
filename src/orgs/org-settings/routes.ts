import type { Caller } from '../../access/authorize.ts'
import type { InOrg } from '../../access/scope.ts'
import { org, orgSites } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import type { Context } from '../../platform/context.ts'
import type { Document } from '../../platform/json/document.ts'
import { revealTo } from '../secrets/reveal.ts'
import { type Setting, findSetting } from './store.ts'
import { updateSetting } from './update-setting.ts'
import { SettingBody, SettingReply, presentSetting } from './wire.ts'

const tag = 'Orgs Setting'

/** Settings of an organization. Source: contract, Orgs Setting. */
export const orgSettingOperations: Operation[] = [
  operation({
    id: 'getOrgSettings',
    summary: 'Get the settings of an organization',
    method: 'GET',
    tag,
    at: orgSites('/setting', { needs: 'read' }),
    reply: SettingReply,
    run: async (ctx, { scope, caller }) => present(ctx, caller, { scope, setting: await findSetting(ctx.db, scope) }),
  }),
  operation({
    id: 'updateOrgSettings',
    summary: 'Update the settings of an organization',
    method: 'PUT',
    tag,
    at: org('/setting', { needs: 'admin' }),
    body: SettingBody,
    reply: SettingReply,
    locksOnlyItsRecord: true,
    checksOnlyChanges: true,
    run: async (ctx, { scope, caller, body }) =>
      present(ctx, caller, { scope, setting: await updateSetting(ctx, scope, body), written: body }),
  }),
].flat()

async function present(
  ctx: Context,
  caller: Caller,
  {
    scope,
    setting,
    written,
  }: { readonly scope: InOrg; readonly setting: Setting | undefined; readonly written?: Document },
) {
  return presentSetting({ orgId: scope.orgId, setting }, await revealTo(ctx, caller, scope, written))
}
