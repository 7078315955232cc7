import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { pageQuery, parsePage, setPageHeaders } from '../http/lists.ts'
import { Empty, OrgParams } from '../http/schemas.ts'
import { authorizeInstaller } from '../orgs/installers/authorize-installer.ts'
import { listInstallerSites } from '../orgs/installers/store.ts'
import { listSiteGroups } from '../orgs/site-groups/store.ts'
import type { Context } from '../platform/context.ts'
import { defineSite } from './define-site.ts'
import { NamesReply } from './wire.ts'
import { NamedSiteParams, SiteBody, SitesReply, parseSite, presentSite } from './wire-sites.ts'

const tags = ['Installer']

/** Objects of which Signalbox has none, and which installers' programs ask for before they offer a choice. */
const none = [
  { path: 'alarmtemplates', operationId: 'listInstallerAlarmTemplates', query: {} },
  {
    path: 'deviceprofiles',
    operationId: 'listInstallerDeviceProfiles',
    query: { type: Type.Optional(Type.Enum(['ap', 'gateway', 'switch'], { default: 'ap' })) },
  },
  { path: 'rftemplates', operationId: 'listInstallerRfTemplatesNames', query: {} },
]

/** Sites of those who mount devices, and what they choose from. Source: contract, Installer. */
export function installerSiteRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/installer/orgs/:org_id/sites',
      {
        schema: {
          operationId: 'listInstallerSites',
          tags,
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: SitesReply },
        },
      },
      async ({ caller, params, query }, reply) => {
        const { scope, reach } = await authorizeInstaller(ctx, caller, params.org_id)
        const page = parsePage(query)
        const found = await listInstallerSites(ctx.db, scope, { reach, page })
        setPageHeaders(reply, page, found)
        return found.rows.map(presentSite)
      },
    )

    http.put(
      '/installer/orgs/:org_id/sites/:site_name',
      {
        schema: {
          operationId: 'createOrUpdateInstallerSites',
          tags,
          params: NamedSiteParams,
          body: SiteBody,
          response: { 200: Empty },
        },
      },
      async ({ caller, params, body }) => {
        const installer = await authorizeInstaller(ctx, caller, params.org_id)
        await defineSite(ctx, installer, parseSite(params.site_name, body))
        return {}
      },
    )

    http.get(
      '/installer/orgs/:org_id/sitegroups',
      {
        schema: {
          operationId: 'listInstallerSiteGroups',
          tags,
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: NamesReply },
        },
      },
      async ({ caller, params, query }, reply) => {
        const { scope } = await authorizeInstaller(ctx, caller, params.org_id)
        const page = parsePage(query)
        const found = await listSiteGroups(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return found.rows.map(({ id, name }) => ({ id, name }))
      },
    )

    for (const { path, operationId, query } of none)
      http.get(
        `/installer/orgs/:org_id/${path}`,
        {
          schema: {
            operationId,
            tags,
            params: OrgParams,
            querystring: Type.Object({ ...pageQuery, ...query }),
            response: { 200: NamesReply },
          },
        },
        async ({ caller, params, query: asked }, reply) => {
          await authorizeInstaller(ctx, caller, params.org_id)
          const page = parsePage(asked)
          setPageHeaders(reply, page, { limit: page.limit, total: 0 })
          return []
        },
      )
  }
}
