import { authorize, authorizeSite } from '../access/authorize.ts'
import { at, org } from '../http/at.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty, Uuid } from '../http/schemas.ts'
import { deleteOrg } from './delete-org.ts'
import { deleteSiteGroup } from './delete-site-group.ts'
import { deleteSite } from './delete-site.ts'

/** A site, for callers who may also create sites: a privilege for some sites does not decide which sites exist. */
const siteOfOrg = at(
  { audience: 'org', needs: 'write', path: '/sites/:site_id', params: { site_id: Uuid } },
  async (ctx, caller, { site_id: siteId = '' }) => {
    const scope = await authorizeSite(ctx, caller, { siteId, needs: 'write' })
    authorize(caller, { orgId: scope.orgId, needs: 'write' })
    return scope
  },
)

/** Deletions that reach into other nouns. Source: contract, Orgs, Sites and Orgs Sitegroups. */
export const removalOperations: Operation[] = [
  operation({
    id: 'deleteOrg',
    summary: 'Delete an organization with all that it has',
    method: 'DELETE',
    tag: 'Orgs',
    at: org('', { needs: 'admin' }),
    reply: Empty,
    run: (ctx, { scope }) => deleteOrg(ctx, scope),
  }),
  operation({
    id: 'deleteSite',
    summary: 'Delete a site with all that it has',
    method: 'DELETE',
    tag: 'Sites',
    at: siteOfOrg,
    reply: Empty,
    run: (ctx, { scope }) => deleteSite(ctx, scope),
  }),
  operation({
    id: 'deleteOrgSiteGroup',
    summary: 'Delete a site group',
    method: 'DELETE',
    tag: 'Orgs Sitegroups',
    at: org('/sitegroups/:sitegroup_id', { needs: 'write' }),
    params: { sitegroup_id: Uuid },
    reply: Empty,
    run: (ctx, { scope, params }) => deleteSiteGroup(ctx, scope, params.sitegroup_id),
  }),
].flat()
