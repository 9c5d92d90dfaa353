package harness

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// health is what a Redis says of itself that tells its own trouble from a
// provider's fault.
type health struct {
	id     string           // run_id: another process behind the same address holds none of a case's keys
	counts map[string]int64 // the fields of ailments
}

// ailments are fields of INFO that a provider can't make grow, and what it
// means when they do.
var ailments = []struct{ section, field, meaning string }{
	{"Stats", "evicted_keys", "Redis evicted keys: its maxmemory is too small"},
	{"Stats", "rejected_connections", "Redis turned connections away: its maxclients is too small"},
	{"Errorstats", "errorstat_OOM", "Redis answered OOM: its maxmemory is reached"},
	{"Errorstats", "errorstat_READONLY", "Redis answered READONLY: it is or was a replica"},
	{"Errorstats", "errorstat_NOREPLICAS", "Redis answered NOREPLICAS: it waits for replicas before it takes a write"},
	{"Errorstats", "errorstat_MISCONF", "Redis answered MISCONF: it can't write its snapshot to disk"},
	{"Errorstats", "errorstat_LOADING", "Redis answered LOADING: it was restarted"},
	{"Errorstats", "errorstat_MASTERDOWN", "Redis answered MASTERDOWN: it has lost its master"},
	{"Errorstats", "errorstat_CLUSTERDOWN", "Redis answered CLUSTERDOWN: its cluster has lost slots"},
}

func readHealth(ctx context.Context, c *redis.Client) (health, error) {
	info, err := c.InfoMap(ctx, "all").Result()
	if err != nil {
		return health{}, err
	}
	h := health{id: info["Server"]["run_id"], counts: map[string]int64{}}
	for _, a := range ailments {
		// "12", or "count=12" among the error statistics; absent means none.
		n, _ := strconv.ParseInt(strings.TrimPrefix(info[a.section][a.field], "count="), 10, 64)
		h.counts[a.field] = n
	}
	return h, nil
}

// since says what befell Redis between an earlier look and this one, or "".
func (h health) since(before health) string {
	if h.id != before.id {
		return "Redis was restarted or replaced"
	}
	for _, a := range ailments {
		if h.counts[a.field] > before.counts[a.field] {
			return a.meaning
		}
	}
	return ""
}

// redisTrouble says what is wrong with the main Redis since the run began, and
// then ends the run; "" if nothing is. It asks over a new connection, because
// one may be all that is refused.
func (r *runner) redisTrouble() string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c := redis.NewClient(r.options())
	defer c.Close()
	name := r.config.Env.Main().Name()
	now, err := readHealth(ctx, c)
	what := now.since(r.healthy)
	switch {
	case err != nil:
		r.giveUp(fmt.Errorf("%s stopped answering: %w", name, err))
		return fmt.Sprintf("Redis is not answering (%v)", err)
	case what != "":
		r.giveUp(fmt.Errorf("%s is in trouble: %s", name, what))
	}
	return what
}
