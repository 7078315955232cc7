import { showOneTo, showTo } from './secrets/reveal.ts'
import { hasSecrets } from './secrets/secrets.ts'
import { Type } from 'typebox'
import { uuidv7 } from '../platform/uuidv7.ts'
import { authorizeNewOrg, may } from '../access/authorize.ts'
import { type ReadScope, readScopeOf } from '../access/scope.ts'
import { at, org, orgSites, site } from '../http/at.ts'
import { EncodedJson } from '../http/bodies/encode-json.ts'
import { type Page, pageQuery, parsePage, setPageHeaders } from '../http/lists/lists.ts'
import { type Operation, operation } from '../http/operation.ts'
import { coalesceEqual } from '../platform/database/coalesce.ts'
import type { Context } from '../platform/context.ts'
import { cloneOrg } from './clone-org.ts'
import { createOrg } from './create-org.ts'
import { createSite } from './sites/create-site.ts'
import { getOrg } from './store.ts'
import { getSite, listSites } from './sites/store.ts'
import { updateOrg } from './update-org.ts'
import { createUpdateSite } from './sites/update-site.ts'
import {
  CloneOrgBody,
  CreateOrgBody,
  CreateSiteBody,
  OrgReply,
  SiteReply,
  UpdateOrgBody,
  UpdateSiteBody,
  presentOrg,
  presentSiteAt,
} from './wire.ts'

/** Anyone with an account may create an organization; the scope is that of the new one. */
const newOrg = at({ audience: 'person', needs: null, path: '/orgs', params: {} }, (_ctx, caller) =>
  authorizeNewOrg(caller, uuidv7()),
)

/** Source: contract, Orgs. */
export const orgOperations: Operation[] = [
  operation({
    id: 'createOrg',
    summary: 'Create an organization',
    method: 'POST',
    tag: 'Orgs',
    at: newOrg,
    body: CreateOrgBody,
    reply: OrgReply,
    run: async (ctx, { scope, body }) => presentOrg(await createOrg(ctx, scope, body)),
  }),
  operation({
    id: 'getOrg',
    summary: 'Get an organization',
    method: 'GET',
    tag: 'Orgs',
    at: orgSites('', { needs: 'read' }),
    reply: OrgReply,
    run: async (ctx, { scope, caller }) => showOneTo(ctx, { caller, scope }, presentOrg(await getOrg(ctx.db, scope))),
  }),
  operation({
    id: 'updateOrg',
    summary: 'Update an organization',
    method: 'PUT',
    tag: 'Orgs',
    at: org('', { needs: 'admin' }),
    body: UpdateOrgBody,
    reply: OrgReply,
    run: async (ctx, { scope, caller, body }) =>
      showOneTo(ctx, { caller, scope }, presentOrg(await updateOrg(ctx, scope, body)), body),
  }),
  operation({
    id: 'cloneOrg',
    summary: 'Create an organization from the settings of another',
    method: 'POST',
    tag: 'Orgs',
    at: org('/clone', { needs: 'admin' }),
    body: CloneOrgBody,
    reply: OrgReply,
    run: async (ctx, { scope: original, caller, body }) => {
      const scope = authorizeNewOrg(caller, uuidv7())
      return presentOrg(await cloneOrg(ctx, scope, { original, name: body.name }))
    },
  }),
].flat()

/** Source: contract, Orgs Sites and Sites. */
export function siteOperations(context: Context): Operation[] {
  const readSites = sitesReader(context)
  const updateSite = createUpdateSite()
  return [
    operation({
      id: 'listOrgSites',
      summary: 'List the sites of an organization',
      method: 'GET',
      tag: 'Orgs Sites',
      at: orgSites('/sites', { needs: 'read' }),
      query: Type.Object(pageQuery),
      reply: Type.Array(SiteReply),
      run: async (ctx, { scope, caller, query, request, reply }) => {
        const page = parsePage(query)
        const read = { scope: readScopeOf(scope), page }
        const { sites, text, whole } = request.isHeavy ? await readSitesAt(ctx, read) : await readSites(read)
        setPageHeaders(reply, page, whole)
        return text ?? showTo(ctx, { caller, scope }, sites)
      },
    }),
    operation({
      id: 'createOrgSite',
      summary: 'Create a site',
      method: 'POST',
      tag: 'Orgs Sites',
      at: org('/sites', { needs: 'write' }),
      body: CreateSiteBody,
      reply: SiteReply,
      run: async (ctx, { scope, caller, body }) => {
        const created = presentSiteAt(ctx.clock.now())(await createSite(ctx, scope, body))
        return showOneTo(ctx, { caller, scope }, created, body)
      },
    }),
    operation({
      id: 'getSiteInfo',
      summary: 'Get a site',
      method: 'GET',
      tag: 'Sites',
      at: site('', { needs: 'read' }),
      reply: SiteReply,
      run: async (ctx, { scope, caller }) =>
        showOneTo(ctx, { caller, scope }, presentSiteAt(ctx.clock.now())(await getSite(ctx.db, scope))),
    }),
    operation({
      id: 'updateSiteInfo',
      summary: 'Update a site',
      method: 'PUT',
      tag: 'Sites',
      at: site('', { needs: 'write' }),
      body: UpdateSiteBody,
      reply: SiteReply,
      readsSite: true,
      run: async (ctx, { scope, caller, body }) => {
        const update = {
          body,
          mayRegroup: may(caller, { orgId: scope.orgId }, 'write'),
          found: caller.principal.site?.content ?? null,
        }
        const updated = presentSiteAt(ctx.clock.now())(await updateSite(ctx, scope, update))
        return showOneTo(ctx, { caller, scope }, updated, body)
      },
    }),
  ].flat()
}

/**
 * Dashboards and scripts read this most often: equal pages that are requested at the same time are read and encoded
 * once.
 */
function sitesReader({ hotDb, clock }: Context) {
  return coalesceEqual(async (read: SitesRead) => {
    const { sites, whole } = await readSitesAt({ db: hotDb, clock }, read)
    // Callers differ in whether they see secrets, and few sites have any.
    return { sites, text: sites.some(hasSecrets) ? null : await EncodedJson.from(sites), whole }
  })
}

interface SitesRead {
  readonly scope: ReadScope
  readonly page: Page
}

async function readSitesAt({ db, clock }: Pick<Context, 'db' | 'clock'>, { scope, page }: SitesRead) {
  const { rows, ...whole } = await listSites(db, scope, page)
  return { sites: rows.map(presentSiteAt(clock.now())), text: null, whole }
}
