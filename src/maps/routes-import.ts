import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { authorize, authorizeSite, authorizeSiteNamed, may } from '../access/authorize.ts'
import type { SiteScope } from '../access/scope.ts'
import { readForm, takeForms } from '../http/forms.ts'
import { OrgParams, SiteParams } from '../http/schemas.ts'
import { authorizeInstaller, authorizeInstallerSite } from '../orgs/installers/authorize-installer.ts'
import type { Context } from '../platform/context.ts'
import { invalidField, notFound } from '../platform/errors.ts'
import { type ImageFiles, discardImage, receiveFile } from '../platform/images/image-files.ts'
import { limitConcurrency } from '../platform/limit-concurrency.ts'
import { importMaps } from './import/import-maps.ts'
import { NamedSiteParams } from './wire.ts'
import { ImportForm, ImportReply, parseImport, presentImport } from './wire-import.ts'

/** A project with surveys; its pictures are bounded one by one, as uploads are. */
const MAX_BUNDLE_BYTES = 256 * 1024 * 1024
/** From when the form is there: a hundred pictures are decoded while nothing moves on the connection. */
const WORK_WITHIN_MS = 15 * 60e3

const importing = limitConcurrency({ running: 2, waiting: 10, refusal: 'Too many imports at once, try again soon.' })

type Reply = Promise<Static<typeof ImportReply>>

/** Bundles of maps. Source: contract, Sites Maps, Orgs Maps, Installer. */
export function mapImportRoutes(ctx: Context, files: ImageFiles): FastifyPluginAsyncTypebox {
  /**
   * @param siteOf Which site it is for, of the `site_id` in the form.
   * @param claimedSince Of the devices that the caller may place; default null, which is all.
   */
  async function receive(
    request: FastifyRequest,
    siteOf: (siteId: string | null) => SiteScope | Promise<SiteScope>,
    claimedSince: Date | null = null,
  ): Reply {
    const { file, fields } = await readForm(request, {
      file: 'file',
      texts: ['csv', 'json'],
      maxBytes: MAX_BUNDLE_BYTES,
      // It goes when the import ends; its pictures count.
      take: ({ body }) => receiveFile({ ...files, maxBytes: MAX_BUNDLE_BYTES }, { orgId: null, body }),
      discard: discardImage,
    })
    request.raw.setTimeout(WORK_WITHIN_MS)
    try {
      const { vendor, wish, siteId } = parseImport(fields)
      const scope = await siteOf(siteId)
      const mayAssign = may(request.caller, { orgId: scope.orgId }, 'write')
      const job = { files, path: file.path, vendor, wish, mayAssign, claimedSince }
      return presentImport(await importing(() => importMaps(ctx, scope, job)))
    } finally {
      await discardImage(file)
    }
  }

  return async (http) => {
    await takeForms(http)

    http.route({
      method: 'POST',
      url: '/sites/:site_id/maps/import',
      schema: {
        operationId: 'importSiteMaps',
        tags: ['Sites Maps'],
        params: SiteParams,
        body: ImportForm,
        response: { 200: ImportReply },
      },
      handler: async (request): Reply => {
        const { caller, params } = request
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        return receive(request, () => scope)
      },
    })

    http.route({
      method: 'POST',
      url: '/orgs/:org_id/maps/import',
      schema: {
        operationId: 'importOrgMaps',
        tags: ['Orgs Maps'],
        params: OrgParams,
        body: ImportForm,
        response: { 200: ImportReply },
      },
      handler: async (request): Reply => {
        const { caller, params } = request
        const { orgId } = authorize(caller, { orgId: params.org_id, needs: 'write', sites: 'some' })
        return receive(request, async (siteId) => {
          if (siteId === null) throw invalidField('site_id', 'is required')
          const scope = await authorizeSite(ctx, caller, { siteId, needs: 'write' })
          if (scope.orgId !== orgId) throw notFound(siteId)
          return scope
        })
      },
    })

    http.route({
      method: 'POST',
      url: '/orgs/:org_id/sites/:site_name/maps/import',
      schema: {
        operationId: 'importOrgMapToSite',
        tags: ['Orgs Maps'],
        params: NamedSiteParams,
        body: ImportForm,
        response: { 200: ImportReply },
      },
      handler: async (request): Reply => {
        const { org_id: orgId, site_name: siteName } = request.params
        const scope = await authorizeSiteNamed(ctx, request.caller, { orgId, siteName, needs: 'write' })
        return receive(request, () => scope)
      },
    })

    http.route({
      method: 'POST',
      url: '/installer/orgs/:org_id/sites/:site_name/maps/import',
      schema: {
        operationId: 'importInstallerMap',
        tags: ['Installer'],
        params: NamedSiteParams,
        body: ImportForm,
        response: { 200: ImportReply },
      },
      handler: async (request): Reply => {
        const { org_id: orgId, site_name: siteName } = request.params
        const scope = await authorizeInstallerSite(ctx, request.caller, { orgId, siteName })
        const { reach } = await authorizeInstaller(ctx, request.caller, orgId)
        return receive(request, () => scope, reach.allDevices ? null : reach.claimedSince)
      },
    })
  }
}
