/** Returns the name of an OAuth provider as people know it. */
export function providerName(provider: string): string {
  if (provider === 'github') return 'GitHub'
  return provider.charAt(0).toUpperCase() + provider.slice(1)
}
