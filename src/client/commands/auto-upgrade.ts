import type { Command } from 'commander'
import { objectOf } from '../api.ts'
import type { Session } from '../session.ts'
import { findSite } from './find.ts'
import { autoText } from './upgrade-texts.ts'

/** Adds the command that shows what the settings of a site do. */
export function addAutoCommand(upgrade: Command, open: (command: Command) => Session): void {
  upgrade
    .command('auto <site>')
    .description('show when the access points of a site are upgraded by its settings, and what came of the last time')
    .action(async (named: string, _options: unknown, command: Command) => {
      const session = open(command)
      const api = await session.connect()
      const siteId = await findSite(api, await session.orgId(api), named)
      const state = objectOf(await api.get(`/api/v1/sites/${siteId}/auto_upgrade`))
      session.output.show(state, () => autoText(state))
    })
}
