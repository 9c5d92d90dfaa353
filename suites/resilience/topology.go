package resilience

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// topology is another Redis to work on.
type topology struct {
	slug, title  string
	requirements string
	options      redisenv.ServerOptions
	slow         bool
	needs        []harness.Need
	conn         func(*redisenv.ConnInfo) // changes how the stores connect
	check        func(*harness.T, *redisenv.Server)
}

// urlCharacters are a password with characters that end or escape a part of a
// URL, and a plus sign, which some decoders take for a space.
const urlCharacters = "a p@ss:word/%2f?#[+]&="

var topologies = []topology{
	{slug: "cluster", title: "a one-node cluster, where a command over two slots fails", requirements: "L9.slot R8.slot",
		options: redisenv.ServerOptions{Cluster: true}, slow: true, check: oneSlotEach},
	{slug: "password", title: "a Redis that wants a password", requirements: "L10.connection",
		options: redisenv.ServerOptions{Password: "secret"}},
	{slug: "password-characters", title: "a Redis whose password holds characters that a URL must escape",
		requirements: "L10.credentials",
		options:      redisenv.ServerOptions{Password: urlCharacters}},
	{slug: "acl-user", title: "a Redis that wants a user and a password", requirements: "L10.connection",
		options: redisenv.ServerOptions{Username: "zlink", Password: "secret"}},
	{slug: "acl-user-characters", title: "a Redis whose user and password hold characters that a URL must escape",
		requirements: "L10.credentials",
		options:      redisenv.ServerOptions{Username: "z@l:i/n%k?#", Password: urlCharacters}},
	{slug: "tls", title: "a Redis that speaks TLS alone", requirements: "L10.connection",
		options: redisenv.ServerOptions{TLS: true}, needs: []harness.Need{targets.CapTLS}},
	{slug: "unix-socket", title: "a Redis behind a unix socket", requirements: "L10.connection",
		options: redisenv.ServerOptions{UnixSocket: true}, needs: []harness.Need{targets.CapUnixSocket},
		conn: func(c *redisenv.ConnInfo) { c.Host, c.Port = "", 0 }},
	{slug: "database", title: "another database of a Redis, which alone holds all keys", requirements: "L10.connection",
		conn: func(c *redisenv.ConnInfo) { c.DB = 3 }, check: onlyDatabase3},
}

// topologyCases do the same work, a little of everything, on each topology,
// with whichever stores the target offers.
func topologyCases() []harness.Case {
	var cases []harness.Case
	for _, p := range topologies {
		cases = append(cases, harness.Case{
			ID: "resilience/topology/" + p.slug, Title: "The stores do all their work on " + p.title + ".",
			Requirements: strings.Fields(p.requirements), Needs: p.needs, Slow: p.slow, Run: func(t *harness.T) { workOn(t, p) },
		})
	}
	c := locationCase("topology/separate-redis",
		"Of two stores on a Redis each, one goes on working while the other's Redis is out of reach.",
		"L10.two-stores L6.failure-class L6.recover", separate, harness.NeedRelocation)
	return append(cases, c)
}

func workOn(t *harness.T, p topology) {
	s := t.Server(p.options)
	conn := s.ConnInfo()
	if p.conn != nil {
		p.conn(&conn)
		conn = rewritten(conn)
	}
	main := strings.Fields(p.requirements)[0]
	store := harness.Store{Conn: &conn}
	if info := t.Target().Info(); info.Offers(targets.StoreLocation) {
		locationWork(t, main, t.Target().OpenLocation(store))
	}
	if info := t.Target().Info(); info.Offers(targets.StoreRelocation) {
		relocationWork(t, main, t.Target().OpenRelocation(store))
	}
	if p.check != nil {
		p.check(t, s)
	}
}

// locationWork uses batches, conditions, expiry and snapshots over keys that
// would lie in many slots.
func locationWork(t *harness.T, requirement string, l *harness.Location) {
	const records = 40
	var batch spi.WriteRequest
	for i := range records {
		key := spi.Key(fmt.Sprintf("work/%02d", i))
		batch.Conditions = append(batch.Conditions, ifMissing(key))
		batch.Mutations = append(batch.Mutations, putFor(key, string(key), float64(hour)))
	}
	applied := l.MustApply(batch)
	l.MustConflict(batch)
	t.Checkf(len(applied.PutVersions) == records, requirement, "a batch of %d Puts answered %d versions", records,
		len(applied.PutVersions))
	page := l.MustPage(spi.ScanRequest{Prefix: "work/", Limit: 15})
	first := applied.PutVersions[0]
	l.MustApply(write(given(ifVersion(first.Key, first.Version)), put("other", "v"), del(first.Key)))
	l.MustDelete("work/39", "work/20", "never")
	l.MustPut("work/21", []byte("changed"), nil)
	items := l.MustFinish("work/", 15, page)
	t.Checkf(len(items) == records, requirement, "a snapshot of %d records shows %d", records, len(items))
	for _, i := range items {
		t.EqualBytes(requirement, "a record of the snapshot", []byte(i.Key), i.Value.Bytes)
	}
	l.MustMiss("work/39")
	t.EqualBytes(requirement, "an overwritten value", []byte("changed"), l.MustFind("work/21").Value.Bytes)
	live := l.MustScan("work/", 7)
	t.Checkf(len(live) == records-3, requirement, "a new snapshot of %d records shows %d", records-3, len(live))
}

// relocationWork uses every operation.
func relocationWork(t *harness.T, requirement string, r *harness.Relocation) {
	for i := range 10 {
		ref, payload := spi.Reference(fmt.Sprint("work{", i, "}")), []byte(fmt.Sprint("payload ", i))
		r.MustMiss(ref)
		r.MustStore(ref, payload, spi.Retention(hour))
		again := r.MustPut(ref, payload, spi.Retention(hour))
		_, already := again.(spi.AlreadyStored)
		t.Checkf(already, requirement, "Put again with the same bytes answered %s", harness.Describe(again))
		other := r.MustPut(ref, []byte("other"), spi.Retention(hour))
		_, conflict := other.(spi.Conflict)
		t.Checkf(conflict, requirement, "Put of other bytes answered %s", harness.Describe(other))
		renewed := r.MustRenew(ref, spi.Retention(day))
		f := r.MustFind(ref)
		t.EqualBytes(requirement, "the payload", payload, f.Bytes)
		t.Checkf(min(renewed.ExpiresAt-renewed.StoreNow, f.ExpiresAt-f.StoreNow) > day-hour, requirement,
			"a payload renewed for a day expires %d ms later, as a read tells %d ms later", renewed.ExpiresAt-renewed.StoreNow,
			f.ExpiresAt-f.StoreNow)
		r.MustDelete(ref)
		r.MustDelete(ref)
		r.MustMiss(ref)
	}
	r.MustStore("kept", []byte("v"), spi.Retention(hour))
}

// oneSlotEach counts the slots that hold keys. Redis itself does not notice a
// key in another slot of the same node that a script names on its own, so a
// target that claims the official layout is looked at.
func oneSlotEach(t *harness.T, s *redisenv.Server) {
	info := t.Target().Info()
	if info.Layout != targets.LayoutOfficial {
		return
	}
	c := t.Client(s)
	keys, err := c.Keys(t.Context(), "*").Result() // the server is the case's own
	if err != nil {
		t.Troublef("KEYS failed: %v", err)
	}
	slots := map[int64]string{}
	for _, key := range keys {
		slot, err := c.ClusterKeySlot(t.Context(), key).Result()
		if err != nil {
			t.Troublef("CLUSTER KEYSLOT failed: %v", err)
		}
		slots[slot] = key
	}
	t.Checkf(len(slots) <= len(info.Stores), "L9.slot", "the keys of %d stores lie in %d slots: %.300v", len(info.Stores),
		len(slots), slots)
}

// onlyDatabase3 looks for keys past the stores.
func onlyDatabase3(t *harness.T, s *redisenv.Server) {
	for db := range 5 {
		o := s.Options()
		o.DB = db
		c := redis.NewClient(o)
		t.Cleanup(func() { c.Close() })
		n, err := c.DBSize(t.Context()).Result()
		if err != nil {
			t.Troublef("DBSIZE failed: %v", err)
		}
		t.Checkf((n > 0) == (db == 3), "L10.connection",
			"database %d holds %d keys, although the stores were told to use database 3", db, n)
	}
}

// rewritten is a changed connection with the URL that says the same.
func rewritten(c redisenv.ConnInfo) redisenv.ConnInfo {
	u := url.URL{Scheme: "redis", Host: net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), Path: "/" + strconv.Itoa(c.DB)}
	if c.TLS {
		u.Scheme = "rediss"
	}
	if c.Host == "" {
		u = url.URL{Scheme: "unix", Path: c.Socket, RawQuery: url.Values{"db": {strconv.Itoa(c.DB)}}.Encode()}
	}
	if c.Username != "" || c.Password != "" {
		u.User = url.UserPassword(c.Username, c.Password)
	}
	c.URL = u.String()
	return c
}

func separate(t *harness.T) {
	w := open(t, &location, failingTimeout) // on the main server, behind a proxy
	r := t.Target().OpenRelocation(harness.Store{Server: t.Server(redisenv.ServerOptions{})})
	w.warm()
	relocationWork(t, "L10.two-stores", r)
	w.proxy.Refuse()
	w.proxy.CutAll()
	err := w.ping()
	if t.Checkf(err != nil, "L10.two-stores", "a Read succeeded while the Redis of its store was out of reach") {
		t.ErrorKind("L6.failure-class", "a Read without its Redis", err, spi.KindStoreFailure, spi.KindTimeout)
	}
	t.EqualBytes("L10.two-stores", "a payload on the other Redis", []byte("v"), r.MustFind("kept").Bytes)
	w.heal()
	w.works("after its Redis came back")
	t.EqualBytes("L10.two-stores", "a payload on the other Redis", []byte("v"), r.MustFind("kept").Bytes)
}
