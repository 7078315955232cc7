import { site } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { getAutoUpgrade } from './get-auto-upgrade.ts'
import { AutoUpgradeReply, presentAutoUpgrade } from './wire.ts'

/** What becomes of the setting `auto_upgrade`. Ours: the published interface has the setting alone. */
export const autoUpgradeOperations: Operation[] = [
  operation({
    id: 'getSiteAutoUpgrade',
    summary: 'Get when the access points of a site are upgraded by its settings',
    method: 'GET',
    tag: 'Upgrades',
    at: site('/auto_upgrade', { needs: 'read' }),
    reply: AutoUpgradeReply,
    run: async (ctx, { scope }) => presentAutoUpgrade(await getAutoUpgrade(ctx, scope)),
  }),
].flat()
