import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { authorizeSite, authorizeSiteNamed, may } from '../access/authorize.ts'
import type { SiteScope } from '../access/scope.ts'
import { at, orgSites, site } from '../http/at.ts'
import { readForm } from '../http/bodies/forms.ts'
import { type Operation, operation } from '../http/operation.ts'
import { Uuid } from '../http/schemas.ts'
import { installerSite } from '../orgs/installers/at.ts'
import type { Context } from '../platform/context.ts'
import { invalidField, notFound } from '../platform/errors.ts'
import { type ImageFiles, discardImage, receiveFile } from '../platform/images/image-files.ts'
import { limitConcurrency } from '../platform/queues/limit-concurrency.ts'
import { importMaps } from './import/import-maps.ts'
import { ImportForm, ImportReply, parseImport, presentImport } from './wire-import.ts'

/** Enough for a project with surveys. Each picture in it has the limit of an upload. */
const MAX_BUNDLE_BYTES = 256 * 1024 * 1024
/** Counts from the end of the form: the connection is idle while a hundred pictures are decoded. */
const WORK_WITHIN_MS = 15 * 60e3

const importing = limitConcurrency({ running: 2, waiting: 10, refusal: 'Too many imports at once: try again soon' })

/** A site of an organization, named in the path. */
const siteNamed = at(
  {
    audience: 'orgSites',
    needs: 'write',
    path: '/orgs/:org_id/sites/:site_name/maps/import',
    params: { org_id: Uuid, site_name: Type.String() },
  },
  (ctx, caller, { org_id: orgId = '', site_name: siteName = '' }) =>
    authorizeSiteNamed(ctx, caller, { orgId, siteName, needs: 'write' }),
)

/** Bundles of maps. Source: contract, Sites Maps, Orgs Maps, Installer. */
export function mapImportOperations(files: ImageFiles): Operation[] {
  const upload = { method: 'POST', body: ImportForm, reply: ImportReply } as const
  return [
    operation({
      ...upload,
      id: 'importSiteMaps',
      summary: 'Import floor plans into a site',
      tag: 'Sites Maps',
      at: site('/maps/import', { needs: 'write' }),
      run: (ctx, { scope, request }) => importBundle(ctx, request, { files, siteOf: () => scope }),
    }),
    operation({
      ...upload,
      id: 'importOrgMaps',
      summary: 'Import floor plans for many sites',
      tag: 'Orgs Maps',
      at: orgSites('/maps/import', { needs: 'write' }),
      run: (ctx, { scope: { orgId }, caller, request }) => {
        const siteOf = async (siteId: string | null): Promise<SiteScope> => {
          if (siteId === null) throw invalidField('site_id', 'is required')
          const scope = await authorizeSite(ctx, caller, { siteId, needs: 'write' })
          if (scope.orgId !== orgId) throw notFound(siteId)
          return scope
        }
        return importBundle(ctx, request, { files, siteOf })
      },
    }),
    operation({
      ...upload,
      id: 'importOrgMapToSite',
      summary: 'Import floor plans into a site by its name',
      tag: 'Orgs Maps',
      at: siteNamed,
      run: (ctx, { scope, request }) => importBundle(ctx, request, { files, siteOf: () => scope }),
    }),
    operation({
      ...upload,
      id: 'importInstallerMap',
      summary: 'Import a floor plan into a site as an installer',
      tag: 'Installer',
      at: installerSite('/maps/import'),
      run: (ctx, { scope, request }) => {
        const claimedSince = scope.reach.allDevices ? null : scope.reach.claimedSince
        return importBundle(ctx, request, { files, siteOf: () => scope.site, claimedSince })
      },
    }),
  ].flat()
}

interface BundleRequest {
  readonly files: ImageFiles
  /** Returns the site to import into, given the `site_id` of the form. */
  readonly siteOf: (siteId: string | null) => SiteScope | Promise<SiteScope>
  /** The caller may place only devices claimed since then; null, the default, means all. */
  readonly claimedSince?: Date | null
}

async function importBundle(
  ctx: Context,
  request: FastifyRequest,
  { files, siteOf, claimedSince = null }: BundleRequest,
): Promise<Static<typeof ImportReply>> {
  const { file, fields } = await readForm(request, {
    file: 'file',
    texts: ['auto_deviceprofile_assignment', 'csv', 'json'],
    maxBytes: MAX_BUNDLE_BYTES,
    // The bundle is discarded when the import ends; only its pictures count towards the quota.
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
