/** Which hosts and addresses are this machine itself. Pure. */

/** Names of hosts, as URLs have them, that only this machine reaches. */
export const LOOPBACK_HOST = /^(localhost|[a-z0-9-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i

/** Addresses of peers on this machine, as sockets have them. */
export const LOOPBACK_ADDRESS = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i
