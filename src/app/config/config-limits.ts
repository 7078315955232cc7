import { Type } from 'typebox'
import type { Limits } from '../../platform/limits.ts'

export const defaultLimits: Limits = {
  orgsPerAccount: 100,
  sitesPerOrg: 10_000,
  mapsPerOrg: 25_000,
  mapsPerSite: 250,
  tokensPerAccount: 100,
  tokensPerOrg: 100,
  sessionsPerAccount: 100,
}

const MAX = 1_000_000

const limit = (what: string, value: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: MAX, description: `${what}; default ${value}` }))

/** Limits of accounts, organizations and sites; part of the environment of config.ts. */
export const limitEnvironment = {
  SIGNALBOX_ORG_ACCOUNT_MAX: limit('organizations that an account may create', defaultLimits.orgsPerAccount),
  SIGNALBOX_SITE_ORG_MAX: limit('sites of an organization', defaultLimits.sitesPerOrg),
  SIGNALBOX_MAP_ORG_MAX: limit('maps of all sites of an organization together', defaultLimits.mapsPerOrg),
  SIGNALBOX_MAP_SITE_MAX: limit('maps of a site', defaultLimits.mapsPerSite),
  SIGNALBOX_TOKEN_ACCOUNT_MAX: limit('API tokens of an account', defaultLimits.tokensPerAccount),
  SIGNALBOX_TOKEN_ORG_MAX: limit('API tokens of an organization', defaultLimits.tokensPerOrg),
  SIGNALBOX_SESSION_ACCOUNT_MAX: limit(
    'open sessions of an account; a further one ends the one that was used longest ago',
    defaultLimits.sessionsPerAccount,
  ),
}

const Environment = Type.Object(limitEnvironment)

export function parseLimits(env: Type.Static<typeof Environment>): Limits {
  return {
    orgsPerAccount: env.SIGNALBOX_ORG_ACCOUNT_MAX ?? defaultLimits.orgsPerAccount,
    sitesPerOrg: env.SIGNALBOX_SITE_ORG_MAX ?? defaultLimits.sitesPerOrg,
    mapsPerOrg: env.SIGNALBOX_MAP_ORG_MAX ?? defaultLimits.mapsPerOrg,
    mapsPerSite: env.SIGNALBOX_MAP_SITE_MAX ?? defaultLimits.mapsPerSite,
    tokensPerAccount: env.SIGNALBOX_TOKEN_ACCOUNT_MAX ?? defaultLimits.tokensPerAccount,
    tokensPerOrg: env.SIGNALBOX_TOKEN_ORG_MAX ?? defaultLimits.tokensPerOrg,
    sessionsPerAccount: env.SIGNALBOX_SESSION_ACCOUNT_MAX ?? defaultLimits.sessionsPerAccount,
  }
}
