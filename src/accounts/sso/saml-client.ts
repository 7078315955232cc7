import type { SAML } from '@node-saml/node-saml'
import type { Context } from '../../platform/context.ts'
import { SsoRefusal } from './refusal.ts'
import { type Sso, identityProviderOf, samlUrls } from './sso.ts'

const nameIdFormats = {
  email: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  unspecified: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
} as const

/** The library and its parsers take memory and time to load, and most installations never need them. */
function loadSaml() {
  return import('@node-saml/node-saml')
}

/** For messages whose signature does not matter yet. Loaded when it is needed, as the library is. */
export async function parseXml(xml: string): Promise<unknown> {
  const { parseXml2JsFromString } = await import('@node-saml/node-saml/lib/xml.js')
  return parseXml2JsFromString(xml)
}

function identityOf(ctx: Context, { domain, doc }: Sso) {
  const { entityId, acsUrl, logoutUrl } = samlUrls(ctx.baseUrl, domain)
  return {
    issuer: entityId,
    callbackUrl: acsUrl,
    logoutCallbackUrl: logoutUrl,
    identifierFormat: nameIdFormats[doc.nameid_format ?? 'email'],
  }
}

/**
 * The library set up for one SSO. It verifies signatures and hands over what was signed and nothing else.
 * Times, the request that is answered and whom it is for are decided in decide-assertion.ts, by our
 * clock and our memory.
 *
 * @param requestId Of the request that it is to make.
 * @throws SsoRefusal while the identity provider has not been set up.
 */
export async function createSamlClient(ctx: Context, sso: Sso, requestId?: string): Promise<SAML> {
  const provider = identityProviderOf(sso)
  if (provider === null) throw new SsoRefusal('issuer, idp_cert and idp_sso_url of the SSO have not been set')
  const identity = identityOf(ctx, sso)
  const { SAML, ValidateInResponseTo } = await loadSaml()
  return new SAML({
    ...identity,
    audience: identity.issuer,
    entryPoint: provider.ssoUrl,
    idpCert: [...provider.certs],
    idpIssuer: provider.issuer,
    // One of the two has to be signed: unless the response is, the library insists on the assertion.
    wantAuthnResponseSigned: false,
    wantAssertionsSigned: false,
    disableRequestedAuthnContext: true,
    validateInResponseTo: ValidateInResponseTo.never,
    acceptedClockSkewMs: -1,
    ...(requestId !== undefined && { generateUniqueId: () => requestId }),
  })
}

/** What the identity provider's administrator feeds it: XML that names our addresses. */
export async function metadataOf(ctx: Context, sso: Sso): Promise<string> {
  const { generateServiceProviderMetadata } = await loadSaml()
  return generateServiceProviderMetadata({
    ...identityOf(ctx, sso),
    // The same text each time, so that it can be compared.
    generateUniqueId: () => `_${sso.domain}`,
  })
}
