import { Type } from 'typebox'
import { type Caller, authorizeSiteNamed, authorizeSites, may } from '../../access/authorize.ts'
import { type SiteScope, coversOrg } from '../../access/scope.ts'
import { type At, at } from '../../http/at.ts'
import { Uuid } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { notFound } from '../../platform/errors.ts'
import { findInstallerSetting } from '../org-settings/store.ts'
import { type Installer, type Reach, reachOf } from './reach.ts'
import { isReachedSite } from './store.ts'

/** Places an operation below the organization's path for installers. */
export function installer(path: string): At<Installer> {
  return at(
    { audience: 'installer', needs: 'install', path: `/installer/orgs/:org_id${path}`, params: { org_id: Uuid } },
    (ctx, caller, params) => authorizeInstaller(ctx, caller, params['org_id'] ?? ''),
  )
}

/** A site that the installer may work on, and the rest of their reach. */
export interface InstallerAtSite {
  readonly site: SiteScope
  readonly reach: Reach
}

/** Places an operation below the path of a site, which installers know by its name. */
export function installerSite(path: string): At<InstallerAtSite> {
  return at(
    {
      audience: 'installer',
      needs: 'install',
      path: `/installer/orgs/:org_id/sites/:site_name${path}`,
      params: { org_id: Uuid, site_name: Type.String() },
    },
    async (ctx, caller, params) => {
      const { org_id: orgId = '', site_name: siteName = '' } = params
      const { scope, reach } = await authorizeInstaller(ctx, caller, orgId)
      const site = await authorizeSiteNamed(ctx, caller, { orgId, siteName, needs: 'install' })
      if (!(await isReachedSite(ctx.db, scope, { reach, siteId: site.siteId }))) throw notFound(siteName)
      return { site, reach }
    },
  )
}

/**
 * Every installer is limited to recently claimed devices. Sites are limited only for callers with no other privilege
 * than the role: a privilege that names sites, or that allows writing, already sets the limit.
 * @throws AppError as authorize().
 */
async function authorizeInstaller(ctx: Context, caller: Caller, orgId: string): Promise<Installer> {
  const scope = authorizeSites(caller, { orgId, needs: 'install' })
  const setting = await findInstallerSetting(ctx.db, scope)
  const mayWrite = may(caller, scope, 'write')
  const reach = reachOf(setting, { unlimited: !coversOrg(scope) || mayWrite, now: ctx.clock.now() })
  return { scope, reach, mayWrite }
}
