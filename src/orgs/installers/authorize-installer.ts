import { type Caller, authorize, authorizeSiteNamed, may } from '../../access/authorize.ts'
import type { OrgScope, SiteScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { notFound } from '../../platform/errors.ts'
import { findInstallerSetting } from '../store-setting.ts'
import { type Reach, reachOf } from './reach.ts'
import { isReachedSite } from './store.ts'

/** What an operation under /installer may touch. */
export interface Installer {
  readonly scope: OrgScope
  readonly reach: Reach
}

/**
 * Devices are those that were claimed lately, whoever asks. Sites are limited for those with the role
 * alone: a privilege that names sites, or that lets write, says enough.
 * @throws AppError as authorize().
 */
export async function authorizeInstaller(ctx: Context, caller: Caller, orgId: string): Promise<Installer> {
  const scope = authorize(caller, { orgId, needs: 'install', sites: 'some' })
  return { scope, reach: await findReach(ctx, caller, scope) }
}

/** As authorizeSiteNamed(), for one of the sites that they may work on. */
export async function authorizeInstallerSite(
  ctx: Context,
  caller: Caller,
  { orgId, siteName }: { readonly orgId: string; readonly siteName: string },
): Promise<SiteScope> {
  const { scope, reach } = await authorizeInstaller(ctx, caller, orgId)
  const site = await authorizeSiteNamed(ctx, caller, { orgId, siteName, needs: 'install' })
  if (!(await isReachedSite(ctx.db, scope, { reach, siteId: site.siteId }))) throw notFound(siteName)
  return site
}

async function findReach(ctx: Context, caller: Caller, scope: OrgScope): Promise<Reach> {
  const setting = await findInstallerSetting(ctx.db, scope)
  const unlimited = scope.siteIds !== 'all' || may(caller, scope, 'write')
  return reachOf(setting, { unlimited, now: ctx.clock.now() })
}
