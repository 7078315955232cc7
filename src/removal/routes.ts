import { authorize } from '../access/authorize.ts'
import { org, site } from '../http/at.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Empty, Uuid } from '../http/schemas.ts'
import { deleteOrg } from './delete-org.ts'
import { deleteSiteGroup } from './delete-site-group.ts'
import { deleteSite } from './delete-site.ts'

/** What goes with much that other nouns have. Source: contract, Orgs, Sites and Orgs Sitegroups. */
export const removalOperations: Operation[] = [
  operation({
    id: 'deleteOrg',
    method: 'DELETE',
    tag: 'Orgs',
    at: org('', { needs: 'admin' }),
    reply: Empty,
    run: (ctx, { scope }) => deleteOrg(ctx, scope),
  }),
  operation({
    id: 'deleteSite',
    method: 'DELETE',
    tag: 'Sites',
    at: site('', { needs: 'write' }),
    reply: Empty,
    run: async (ctx, { scope, caller }) => {
      // As for its creation: who was given some sites does not decide which there are.
      authorize(caller, { orgId: scope.orgId, needs: 'write' })
      await deleteSite(ctx, scope)
    },
  }),
  operation({
    id: 'deleteOrgSiteGroup',
    method: 'DELETE',
    tag: 'Orgs Sitegroups',
    at: org('/sitegroups/:sitegroup_id', { needs: 'write' }),
    params: { sitegroup_id: Uuid },
    reply: Empty,
    run: (ctx, { scope, params }) => deleteSiteGroup(ctx, scope, params.sitegroup_id),
  }),
].flat()
