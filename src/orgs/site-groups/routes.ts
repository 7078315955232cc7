import { org, orgSites } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { showOneTo, showTo } from '../secrets/reveal.ts'
import { createSiteGroup } from './create-site-group.ts'
import { getSiteGroup, listSiteGroups } from './store.ts'
import { updateSiteGroup } from './update-site-group.ts'
import { CreateSiteGroupBody, SiteGroupReply, UpdateSiteGroupBody, presentSiteGroup } from './wire.ts'

const tag = 'Orgs Sitegroups'
const one = '/sitegroups/:sitegroup_id'
const params = { sitegroup_id: Uuid }

/** Groups of sites. Source: contract, Orgs Sitegroups. */
export const siteGroupOperations: Operation[] = [
  listOperation({
    id: 'listOrgSiteGroups',
    summary: 'List the site groups of an organization',
    tag,
    at: orgSites('/sitegroups', { needs: 'read' }),
    item: SiteGroupReply,
    run: async (ctx, { scope, caller, page }) => {
      const { rows, ...whole } = presentPage(await listSiteGroups(ctx.db, scope, page), presentSiteGroup)
      return { ...whole, rows: await showTo(ctx, { caller, scope }, rows) }
    },
  }),
  operation({
    id: 'createOrgSiteGroup',
    summary: 'Create a site group',
    method: 'POST',
    tag,
    at: org('/sitegroups', { needs: 'write' }),
    body: CreateSiteGroupBody,
    reply: SiteGroupReply,
    run: async (ctx, { scope, caller, body }) =>
      showOneTo(ctx, { caller, scope }, presentSiteGroup(await createSiteGroup(ctx, scope, body)), body),
  }),
  operation({
    id: 'getOrgSiteGroup',
    summary: 'Get a site group',
    method: 'GET',
    tag,
    at: orgSites(one, { needs: 'read' }),
    params,
    reply: SiteGroupReply,
    run: async (ctx, { scope, caller, params: { sitegroup_id: id } }) =>
      showOneTo(ctx, { caller, scope }, presentSiteGroup(await getSiteGroup(ctx.db, scope, id))),
  }),
  operation({
    id: 'updateOrgSiteGroup',
    summary: 'Update a site group',
    method: 'PUT',
    tag,
    at: org(one, { needs: 'write' }),
    params,
    body: UpdateSiteGroupBody,
    reply: SiteGroupReply,
    run: async (ctx, { scope, caller, params: { sitegroup_id: id }, body }) =>
      showOneTo(ctx, { caller, scope }, presentSiteGroup(await updateSiteGroup(ctx, scope, { id, body })), body),
  }),
].flat()
