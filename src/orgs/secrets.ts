import type { Document } from '../platform/document.ts'
import { isObject } from '../platform/is-object.ts'

const secretName = /((^|_)(password|passphrase|secret|psk|key|keypair|kek|mack|token|apitoken)|^community_name)$/i
/** Fields that hold several secrets under names of their own, as those of OSPF do. */
const secretsName = /(^|_)(auth_keys|passwords|secrets|psks)$/i

/**
 * Returns the document without secrets, for the audit log and for callers who may not see them. It drops texts whose
 * names say that they are secrets, and logins in addresses, at any depth.
 */
export function omitSecrets(document: Document): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(document)
      .filter(([name, value]) => !isSecret(name, value))
      .map(([name, value]) => [name, isUrl(name, value) ? withoutLogin(value) : withoutSecrets(value)]),
  )
}

function isSecret(name: string, value: unknown): boolean {
  return secretsName.test(name) || ((typeof value === 'string' || Array.isArray(value)) && secretName.test(name))
}

function isUrl(name: string, value: unknown): value is string {
  return typeof value === 'string' && /(^|_)url$/i.test(name)
}

/** Addresses of proxies may have no scheme. */
function withoutLogin(url: string): string {
  return url.replace(/^([^/?#]*\/\/)?[^/?#]*@/, '$1')
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  return isObject(value) ? omitSecrets(value) : value
}
