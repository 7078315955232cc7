import { Type } from 'typebox'
import { listOperation } from '../http/lists/list-operation.ts'
import { pageQuery, presentPage } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty } from '../http/schemas.ts'
import { installer } from '../orgs/installers/at.ts'
import { listInstallerSites } from '../orgs/installers/store.ts'
import { listSiteGroups } from '../orgs/site-groups/store.ts'
import { upsertSite } from './upsert-site.ts'
import { NameReply } from './wire.ts'
import { SiteBody, SiteReply, parseSite, presentSite } from './wire-sites.ts'

const tag = 'Installer'

/** Kinds of objects that Signalbox does not have. Programs of installers list them before they offer a choice. */
const emptyLists: Operation[] = [
  {
    path: '/alarmtemplates',
    id: 'listInstallerAlarmTemplates',
    summary: 'List alarm templates for installers',
    query: {},
  },
  {
    path: '/deviceprofiles',
    id: 'listInstallerDeviceProfiles',
    summary: 'List device profiles for installers',
    query: { type: Type.Optional(Type.Enum(['ap', 'gateway', 'switch'], { default: 'ap' })) },
  },
  {
    path: '/rftemplates',
    id: 'listInstallerRfTemplatesNames',
    summary: 'List RF templates for installers',
    query: {},
  },
].flatMap(({ path, id, summary, query }) =>
  listOperation({
    id,
    summary,
    tag,
    at: installer(path),
    query: Type.Object({ ...pageQuery, ...query }),
    item: NameReply,
    run: (_ctx, { page }) => ({ rows: [], total: 0, limit: page.limit }),
  }),
)

/** Sites of installers, and the lists that they choose from. Source: contract, Installer. */
export const installerSiteOperations: Operation[] = [
  listOperation({
    id: 'listInstallerSites',
    summary: 'List the sites that the installer may work in',
    tag,
    at: installer('/sites'),
    item: SiteReply,
    run: async (ctx, { scope: { scope, reach }, page }) =>
      presentPage(await listInstallerSites(ctx.db, scope, { reach, page }), presentSite),
  }),
  operation({
    id: 'createOrUpdateInstallerSites',
    summary: 'Create or update a site by its name',
    method: 'PUT',
    tag,
    // Not installerSite(), because the operation may create the site.
    at: installer('/sites/:site_name'),
    params: { site_name: Type.String() },
    body: SiteBody,
    reply: Empty,
    run: (ctx, { scope, params, body }) => upsertSite(ctx, scope, parseSite(params.site_name, body)),
  }),
  listOperation({
    id: 'listInstallerSiteGroups',
    summary: 'List site groups for installers',
    tag,
    at: installer('/sitegroups'),
    item: NameReply,
    run: async (ctx, { scope: { scope }, page }) =>
      presentPage(await listSiteGroups(ctx.db, scope, page), ({ id, name }) => ({ id, name })),
  }),
  ...emptyLists,
].flat()
